"""Faults in the shape of a structure: values that are no nodes, shared nodes, numbers of children."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields

from cortex.ilir.plan import Plan, StructureKind
from cortex.linearize.faults.place import Place, count, noun, short
from ragged.errors import DataError

MOST_NODES = 2**31 - 1
"""The most nodes, or edges, that 32-bit numbers count."""

Names = str | tuple[str, ...] | None

_KINDS = {StructureKind.TREE: "a tree", StructureKind.DAG: "a DAG", StructureKind.SEQUENCE: "a sequence"}
_OFFER = "give a cortex.Node, a tuple of ints, a bracketed string, an array, a graph or a cortex.Forest"
_NAME_THEM = 'name the attributes that hold the children, as in children="kids" or children=("left", "right")'


def _lacks(names: Names) -> str:
    match names:
        case None:
            return "it has neither `children` nor both `left` and `right`"
        case str():
            return f"it has no attribute `{names}`"
        case _:
            return f"it has not all of {', '.join(f'`{name}`' for name in names)}"


def not_a_structure(place: Place, value: object, names: Names) -> DataError:
    """Something in the batch that no reader takes."""
    what = f"linearize: {place}: {noun(value)} is no structure"
    if isinstance(value, Iterator):
        return DataError(what, because="a batch is a list of structures", fix="list(...)")
    return DataError(what, because=_lacks(names), example=short(value), fix=f"{_OFFER}, or {_NAME_THEM}")


def not_a_node(place: Place, value: object, names: Names) -> DataError:
    """A child that is no node."""
    return DataError(
        f"linearize: {place}: {noun(value)} is no node",
        because=_lacks(names),
        example=short(value),
        fix="give each node, the leaves too, the attributes that hold its children, or " + _NAME_THEM,
    )


def batch_in_batch(place: Place, value: object) -> DataError:
    """A list within the list that is the batch."""
    return DataError(
        f"linearize: {place}: a list within a batch",
        because="a list is a batch of structures, and a batch holds no batches",
        example=short(value),
        fix="join the lists into one, or give a tuple where a structure of ints is meant",
    )


def linearized_in_batch(place: Place) -> DataError:
    """What was linearized before stands beside other structures."""
    return DataError(
        f"linearize: {place}: an already linearized batch within a batch",
        because="its nodes have their numbers already",
        fix="give it by itself, or give the structures that it was made from",
    )


def other_plan(given: Plan, wanted: Plan) -> DataError:
    """What was linearized before was meant for another model."""
    was, takes = _plan_text(given), _plan_text(wanted)
    if was == takes:  # they differ in what a short text leaves out: ranges, defaults, classes
        was, takes = (", ".join(lines) for lines in zip(*_different(given, wanted), strict=True))
    return DataError(
        "linearize: the batch was linearized for another plan",
        because=f"it was made for {was}, and this model takes {takes}",
        fix="linearize the structures with this model's own function",
    )


def other_shape(name: str, found: tuple[int, ...] | None, wanted: tuple[int, ...]) -> DataError:
    """What was linearized before was changed since."""
    return DataError(
        f"linearize: `{name}` of the linearized batch is of shape {found}, and its sizes say {wanted}",
        because="an array or a size of it was exchanged after it was linearized",
        fix="linearize the structures again",
    )


def order_broken(name: str, what: str) -> DataError:
    """An array that gives the order of results was exchanged."""
    return DataError(
        f"linearize: `{name}` of the linearized batch {what}",
        because="it was exchanged after the batch was linearized",
        fix="linearize the structures again",
    )


def nothing_to_replace(name: str, known: Iterable[str]) -> DataError:
    """A batch has no array of this name."""
    return DataError(
        f"Linearized.replace: a batch has no array '{name}'",
        because=f"it has {', '.join(known)}",
        fix="batch.with_payloads(word=...), if it is a payload that nodes carry",
    )


def storage_beyond(batch: int, first: int, length: int, rows: int) -> DataError:
    """The rows of a batch are beyond the end of the storage."""
    return DataError(
        f"linearize: batch {batch} is kept in {length} rows of storage from {first} on, and there are {rows}",
        because="an array or a size of it was exchanged after it was linearized",
        fix="linearize the structures again",
    )


def storage_lost(node: int, row: int, when: str) -> DataError:
    """A row is not a node's any more, or not yet, when that is read."""
    return DataError(
        f"linearize: row {row} of storage does not hold node {node} {when}",
        because="an array of the linearized batch was exchanged after it was linearized",
        fix="linearize the structures again",
    )


def _different(given: Plan, wanted: Plan) -> list[tuple[str, str]]:
    """Return what differs, in words: payloads, or else fields of the plans."""
    payloads = zip(given.payloads, wanted.payloads, strict=False)
    found = [(f"`{one}`", f"`{other}`") for one, other in payloads if one != other]
    names = [each.name for each in fields(Plan) if getattr(given, each.name) != getattr(wanted, each.name)]
    return found or [
        (f"{name} = {getattr(given, name)}", f"{name} = {getattr(wanted, name)}") for name in names
    ]


def _plan_text(plan: Plan) -> str:
    payloads = ", ".join(f"{p.name} {p.dtype.value}{list(p.shape) if p.shape else ''}" for p in plan.payloads)
    return f"{_KINDS[plan.kind]} of {_arity_text(plan)} with payloads ({payloads})"


def _arity_text(plan: Plan) -> str:
    most = plan.most_children
    if most is None:
        return f"{plan.min_children} or more children"
    if most == plan.min_children:
        return count(most, "child")
    return f"{plan.min_children} to {count(most, 'child')}"


def shared(place: Place, first: int | None, value: object) -> DataError:
    """A node of a tree or sequence that is reached a second time; `first` is its row, where that says more."""
    before = "" if first is None else f" as node {first}"
    return DataError(
        f"linearize: {place}: the node is shared by two parents",
        because=f"a node below the root has one parent here, and this one was reached before{before}",
        example=short(value),
        fix="give each parent a copy of its own, or declare the model with structure=ra.Dag()",
    )


def cycle(place: Place, value: object) -> DataError:
    """A node that is reached below itself."""
    return DataError(
        f"linearize: {place}: the node is its own ancestor",
        because="a recursion over a cycle has no end",
        example=short(value),
        fix="remove the edge that closes the cycle",
    )


def children_not_iterable(place: Place, value: object, name: str, children: object) -> DataError:
    """The attribute that should hold the children holds something else."""
    return DataError(
        f"linearize: {place}: `{name}` holds no children: it is {noun(children)}",
        because="a node's children are a list, a tuple or another iterable of nodes, or None for a leaf",
        example=short(value),
        fix=f"let `{name}` hold the children in their order",
    )


def few_children(place: Place, number: int, plan: Plan, value: object) -> DataError:
    """An inner node with fewer children than the plan's least."""
    return DataError(
        f"linearize: {place}: {count(number, 'child')} where an inner node has {_arity_text(plan)}",
        because=f"the model reads the first {count(plan.min_children, 'child')} of each inner node",
        example=short(value),
        fix="make the tree binary" if plan.min_children == 2 else "give the node the children that it lacks",
    )


def many_children(place: Place, number: int, plan: Plan, value: object) -> DataError:
    """A node with more children than the plan's most."""
    if plan.kind is StructureKind.SEQUENCE:
        because, fix = "in a sequence a step has one predecessor", "split the node"
    else:
        behind = "the first" if plan.most_children == 1 else f"the first {plan.most_children}"
        because = f"the model reads no child after {behind}, or was declared so"
        kind = "Dag" if plan.kind is StructureKind.DAG else "Tree"
        fix = f"split the node, or declare the model with structure=ra.{kind}(max_children={number})"
    return DataError(
        f"linearize: {place}: {count(number, 'child')} where an inner node has {_arity_text(plan)}",
        because=because,
        example=short(value),
        fix=fix,
    )


def hole(place: Place, position: int, plan: Plan, value: object) -> DataError:
    """A child that the kernel reads without a guard is None."""
    return DataError(
        f"linearize: {place}: child {position} is missing where later ones are given",
        because=f"the model reads the first {count(plan.min_children, 'child')} of each inner node",
        example=short(value),
        fix="give the children without a gap",
    )


def too_large(what: str, limit: int) -> DataError:
    """More nodes or edges than the limit of the call."""
    if limit == MOST_NODES:
        because, fix = "the kernel counts them in 32 bits", "split the batch"
    else:
        because = (
            f"max_nodes={limit} limits the memory of a call; a shared tuple is counted wherever it stands"
        )
        fix = "split the batch, or raise the limit: fn.linearize(data, max_nodes=...)"
    return DataError(f"linearize: the batch has more than {limit} {what}", because=because, fix=fix)
