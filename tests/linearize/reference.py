"""The specification of `cortex.linearize`: the same results and errors in plain Python, slowly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from cortex.ilir.plan import Payload, Plan
from cortex.linearize import faults
from cortex.linearize.faults import Names, Place
from cortex.linearize.options import check_names, check_payloads, check_vocab
from cortex.linearize.reference import Structure, StructureNode, check_carried, payload_value
from cortex.linearize.reference.flat import Columns
from cortex.linearize.reference.payloads import check_dtype, check_values, read_payload
from cortex.linearize.reference.reading import is_flat, members, read_item
from cortex.linearize.reference.structures import ReadContext, place_of
from cortex.linearize.result import Linearized
from cortex.linearize.vocab import Vocab
from tests.linearize.numbering import Values, number


def linearize(
    plan: Plan,
    data: object,
    *,
    vocab: Vocab | None = None,
    children: Names = None,
    payloads: Mapping[str, str] | None = None,
) -> Linearized:
    """Return the arrays of a batch; arguments and errors are those of `cortex.linearize.linearize`."""
    check_names(children)
    check_vocab(vocab)
    renamed = check_payloads(payloads, plan) or {}
    if isinstance(data, Linearized):
        if data.plan != plan:
            raise faults.other_plan(data.plan, plan)
        return data
    values: Values = {payload.name: [] for payload in plan.payloads}
    structures: list[Structure] = []

    def visit_flat(structure: int, node: StructureNode) -> None:
        _check_arity(plan, structure, node)

    def visit(structure: int, node: StructureNode) -> None:
        _check_arity(plan, structure, node)
        for payload in plan.payloads:
            values[payload.name].append(payload_value(payload, structure, node))

    for item in members(data):
        first = len(structures)
        if is_flat(item, children):
            read, columns = read_item(item, first, ReadContext(plan, vocab, children, visit_flat, renamed))
            _add_columns(plan, read, first, columns, values)
        else:
            read, _ = read_item(item, first, ReadContext(plan, vocab, children, visit, renamed))
        structures += read
    check_carried(plan.payloads, [node for structure in structures for node in structure.nodes], renamed)
    return number(plan, structures, values)


def _check_arity(plan: Plan, structure: int, node: StructureNode) -> None:
    """Refuse an inner node with too few or too many children, or without one that the kernel reads."""
    if node.is_leaf:
        return
    given = sum(child is not None for child in node.children)
    most = plan.most_children
    if most is not None and len(node.children) > most:
        raise faults.many_children(place_of(structure, node), len(node.children), plan, node.key)
    if given < plan.min_children:
        raise faults.few_children(place_of(structure, node), given, plan, node.key)
    for j in plan.positions:
        if j < plan.min_children and node.children[j] is None:
            raise faults.hole(place_of(structure, node), j, plan, node.key)


def _add_columns(plan: Plan, read: list[Structure], first: int, columns: Columns, values: Values) -> None:
    """Read the payloads of a flat member: one array after the other, each from row to row."""
    rows = [(first + s, node) for s, structure in enumerate(read) for node in structure.nodes]
    for payload in plan.payloads:
        array = columns.get(payload.name)
        if array is not None:
            _check_column(payload, array, len(rows), Place(first, None, ""))
        for structure, node in rows:
            place = place_of(structure, node)
            if array is None:
                value = read_payload(payload, None, node.is_leaf, node.key, place)
            else:
                entry = np.asarray(array[int(str(node.key))])
                value = check_values(payload, entry, payload.required.at(node.is_leaf), place)
            values[payload.name].append(value)


def _check_column(payload: Payload, array: npt.NDArray[Any], nodes: int, place: Place) -> None:
    """Check a payload that is given for all nodes at once: (nodes, *shape)."""
    if len(array) != nodes:
        raise faults.column_length(place, payload.name, len(array), nodes)
    check_dtype(payload, array, place)
    if array.shape[1:] != payload.shape:
        raise faults.wrong_shape(place, payload, array.shape[1:], array)
