"""Faults in tuples, sequences given as arrays, and Forests."""

from __future__ import annotations

from cortex.ilir.plan import Plan, StructureKind
from cortex.linearize.faults.place import Place, count, noun, short
from ragged.data.faults.given import readable
from ragged.errors import DataError


def empty_tuple(place: Place) -> DataError:
    """A tuple with nothing in it."""
    return DataError(
        f"linearize: {place}: an empty tuple is no node",
        because="an int is a leaf, and a tuple is an inner node over its elements",
        fix="remove it, or put an int in its place",
    )


def tuple_element(place: Place, value: object) -> DataError:
    """Something else than ints and tuples in a tuple."""
    return DataError(
        f"linearize: {place}: {noun(value)} in a tuple is no node",
        because="an int is a leaf with that word, and a tuple is an inner node over its elements",
        example=short(value),
        fix="give ints and tuples only, or cortex.Node objects where nodes carry anything else",
    )


def no_sequence(place: Place, dtype: object, ndim: int, value: object) -> DataError:
    """An array that is no sequence."""
    return DataError(
        f"linearize: {place}: a {ndim}-D array of dtype {dtype} is no sequence",
        because="a sequence is a 1-D array of integers (words) or a 2-D array of floats (one vector a step)",
        example=short(value),
        fix="reshape the array, or convert it: .astype of NumPy, .to of torch",
    )


def unreadable(place: Place, value: object, error: BaseException) -> DataError:
    """An array-like object that NumPy could not read."""
    return DataError(
        f"linearize: {place}: {noun(value)} cannot be read as an array",
        because=short(str(error)).strip("'\""),
        fix=readable(value),
    )


def empty_sequence(place: Place) -> DataError:
    """An array without a step."""
    return DataError(
        f"linearize: {place}: the array has no step",
        because="a structure has at least one node",
        fix="leave it out of the batch",
    )


def no_vector_payload(place: Place, names: tuple[str, ...]) -> DataError:
    """A 2-D array for a model that reads no vector, or several."""
    reads = f"vectors `{'`, `'.join(names)}`" if names else "no vector"
    return DataError(
        f"linearize: {place}: it is unclear what a 2-D array holds",
        because=f"its rows are the vectors that the nodes carry, and the model reads {reads}",
        fix="give a cortex.Forest with named payloads" if names else "give a 1-D array of words",
    )


def forest_begin(place: Place, name: str, because: str) -> DataError:
    """Offsets that are no offsets."""
    return DataError(
        f"linearize: {place}: the Forest's {name} is no array of offsets",
        because=because,
        fix=f"let {name} begin with 0, never decrease, and end with the number of what it divides",
    )


def forest_child(place: Place, child: int, low: int, high: int) -> DataError:
    """A child that is no node of its parent's structure."""
    return DataError(
        f"linearize: {place}: child {child} is no node of the structure",
        because=f"the structure's nodes are {low} to {high - 1}",
        fix="number the nodes of a structure consecutively; -1 stands for a missing child",
    )


def forest_empty(place: Place) -> DataError:
    """A structure of a Forest without a node."""
    return DataError(
        f"linearize: {place}: a structure of the Forest has no node",
        because="a structure has at least one node",
        fix="leave it out of structure_begin",
    )


def forest_roots(place: Place, first: int, second: int, plan: Plan) -> DataError:
    """Two roots where a structure has one."""
    kind = "a sequence" if plan.kind is StructureKind.SEQUENCE else "a tree"
    return DataError(
        f"linearize: {place}: two roots in one structure of the Forest",
        because=f"{kind} has one root, and nodes {first} and {second} have no parent",
        fix="leave structure_begin out: then each root is a structure of its own",
    )


def forest_cycle(place: Place, number: int) -> DataError:
    """Nodes of a Forest that no root reaches."""
    return DataError(
        f"linearize: {place}: node {number} of the Forest is reached from no root",
        because="its ancestors form a cycle",
        fix="remove the edge that closes the cycle",
    )


def column_length(place: Place, name: str, length: int, nodes: int) -> DataError:
    """A payload array with more or fewer rows than the Forest has nodes."""
    return DataError(
        f"linearize: {place}: the Forest's payload `{name}` has {count(length, 'row')} for {count(nodes, 'node')}",
        because="row n belongs to node n",
        fix=f"give `{name}` one row for each node",
    )
