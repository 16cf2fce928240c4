"""Finds the reader of each member of a batch."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cortex.ilir.plan import Plan
from cortex.linearize import faults
from cortex.linearize.faults import Names, Place
from cortex.linearize.forest import Forest
from cortex.linearize.options import check_names, check_payloads, check_vocab
from cortex.linearize.reference.flat import Columns, read_array, read_forest
from cortex.linearize.reference.graph import is_graph, read_graph
from cortex.linearize.reference.labelled import is_labelled, read_labelled
from cortex.linearize.reference.objects import has_children, read_object
from cortex.linearize.reference.payloads import is_array_like
from cortex.linearize.reference.structures import ReadContext, Structure
from cortex.linearize.reference.text import read_text
from cortex.linearize.reference.tuples import is_int, read_tuple
from cortex.linearize.result import Linearized
from cortex.linearize.tensors import as_numpy
from cortex.linearize.vocab import Vocab


def members(data: object) -> list[object]:
    """Return the members of a batch: a list is one, anything else is a batch of one."""
    return data if type(data) is list else [data]


def is_flat(item: object, names: Names) -> bool:
    """Whether payloads come as arrays over all nodes, which are checked one after the other."""
    if isinstance(item, Forest | np.ndarray):
        return True
    taken = isinstance(item, str | bytes | bytearray | tuple | Linearized) or is_int(item)
    taken = taken or is_labelled(item) or is_graph(item)
    return not taken and not has_children(item, names) and is_array_like(item)


def read_item(item: object, structure: int, context: ReadContext) -> tuple[list[Structure], Columns]:
    """Read one member of a batch; `structure` is the index of its first structure. Also return a flat one's arrays."""
    place = Place(structure, None, "")
    if type(item) is list:
        raise faults.batch_in_batch(place, item)
    if isinstance(item, Linearized):
        raise faults.linearized_in_batch(place)
    if isinstance(item, str):
        return [read_text(item, structure, context)], {}
    if type(item) is tuple or is_int(item):
        return [read_tuple(item, structure, context)], {}
    if isinstance(item, Forest):
        return read_forest(item, structure, context)
    if is_flat(item, context.names):
        if isinstance(item, np.ma.MaskedArray):
            raise faults.masked(place, None)
        try:
            array = as_numpy(item)
        except Exception as error:
            raise faults.unreadable(place, item, error) from None
        read, columns = read_array(array, structure, context)
        return [read], columns
    if has_children(item, context.names):
        return [read_object(item, structure, context)], {}
    if is_labelled(item):
        return [read_labelled(item, structure, context)], {}
    if is_graph(item):
        return [read_graph(item, structure, context)], {}
    raise faults.not_a_structure(place, item, context.names)


def read_structures(
    plan: Plan,
    data: object,
    *,
    vocab: Vocab | None = None,
    children: Names = None,
    payloads: Mapping[str, str] | None = None,
) -> list[Structure]:
    """Return the nodes of each structure of a batch, for every kind that is taken but `Linearized`.

    The shape is checked as far as it must be to be read (cycles, sharing, syntax), arity and payloads are not.
    """
    structures: list[Structure] = []
    renamed = check_payloads(payloads, plan) or {}
    context = ReadContext(
        plan, check_vocab(vocab), check_names(children), lambda structure, node: None, renamed
    )
    for item in members(data):
        read, columns = read_item(item, len(structures), context)
        nodes = sum(len(each.nodes) for each in read)
        for name in (payload.name for payload in context.plan.payloads if payload.name in columns):
            if len(columns[name]) != nodes:
                place = Place(len(structures), None, "")
                raise faults.column_length(place, name, len(columns[name]), nodes)
        structures += read
    return structures
