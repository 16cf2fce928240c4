"""Faults in networkx graphs, and in labelled trees such as nltk's."""

from __future__ import annotations

from cortex.ilir.plan import Plan, StructureKind
from cortex.linearize.faults.place import Place, noun, short
from ragged.errors import DataError


def graph_node(key: object) -> str:
    """Return how a node of a graph is called in a message."""
    return f"graph node {short(key)}"


def graph_kind(place: Place, graph: object, multiple: bool) -> DataError:
    """A graph that is undirected or a multigraph."""
    because = (
        "it may have several edges from a node to a child" if multiple else "its edges have no direction"
    )
    return DataError(
        f"linearize: {place}: {noun(graph)} is no structure",
        because=because,
        fix="give a networkx.DiGraph with one edge from each node to each of its children",
    )


def graph_empty(place: Place) -> DataError:
    """A graph without a node."""
    return DataError(
        f"linearize: {place}: the graph has no node",
        because="a structure has at least one node",
        fix="leave it out of the batch",
    )


def graph_roots(place: Place, first: object, second: object, plan: Plan) -> DataError:
    """Two roots where a structure has one."""
    kind = "a sequence" if plan.kind is StructureKind.SEQUENCE else "a tree"
    return DataError(
        f"linearize: {place}: two roots in one graph",
        because=f"{kind} has one root, and {graph_node(first)} and {graph_node(second)} have no parent",
        fix="give each as a graph of its own, or declare the model with structure=ra.Dag()",
    )


def graph_position(place: Place, child: object, given: object) -> DataError:
    """An edge with a position that is none, or the position of another child, or without one beside others."""
    said = "no position" if given is None else f"position={short(given)}"
    return DataError(
        f"linearize: {place}: the edge to {graph_node(child)} has {said}",
        because="edges of one node have different positions, whole numbers from 0 to 65,535, or none has any",
        fix="graph.add_edge(node, child, position=...) for each child of the node",
    )


def graph_cycle(place: Place, key: object) -> DataError:
    """Nodes of a graph that no root reaches."""
    return DataError(
        f"linearize: {place}: {graph_node(key)} is reached from no root",
        because="its ancestors form a cycle",
        fix="remove the edge that closes the cycle",
    )


_LABELLED = "a leaf is a label over one word, and an inner node a label over such trees"


def labelled_vocabulary(place: Place, value: object) -> DataError:
    """A labelled tree, and nothing that says which word has which number."""
    return DataError(
        f"linearize: {place}: {noun(value)} of words needs a vocabulary",
        because="the model reads its words as numbers",
        example=short(value),
        fix='compile(..., vocab=cortex.Vocab(words, unk="<unk>"))',
    )


def labelled_content(place: Place, value: object) -> DataError:
    """A labelled tree with nothing under its label."""
    return DataError(
        f"linearize: {place}: nothing stands under the label",
        because=_LABELLED,
        example=short(value),
        fix="give the leaf its word, or remove it",
    )


def labelled_child(place: Place, value: object) -> DataError:
    """Something else than a labelled tree under a label, and not the only word."""
    return DataError(
        f"linearize: {place}: {noun(value)} among the children of a labelled tree",
        because=_LABELLED,
        example=short(value),
        fix="give each word a label of its own",
    )
