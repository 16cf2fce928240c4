"""The functions that programs over the structures of a plan call."""

from __future__ import annotations

from dataclasses import replace

from cortex.ilir.class_ranges import class_ranges
from cortex.ilir.index_arrays import IndexArray, IndexKind, index_arrays
from cortex.ilir.plan import Plan
from cortex.ilir.structure import Carriers, Members, Steps, Storage, StructureFunctions
from cortex.ilir.structure_facts import structure_facts
from ragged.ir.build import add, sub
from ragged.ir.expr import Call, Expr, Function, Param, Ref, Source, Var

_K = IndexKind


def structure_functions(plan: Plan) -> StructureFunctions:
    """Return the functions that a program over structures of `plan` may call, with their facts."""
    made: dict[str, Function] = {}
    of: dict[tuple[IndexKind, str | int | None], Function] = {}
    for array in index_arrays(plan):
        key = array.payload if array.payload is not None else array.number
        made[array.name] = of[array.kind, key] = _function(array, made)

    def one(kind: IndexKind, key: str | int | None = None) -> Function:
        return of[kind, key]

    num_nodes = one(_K.NUM_NODES)
    batches = (one(_K.BATCH_BEGIN), one(_K.BATCH_LENGTH))
    child_begin = one(_K.CHILD_BEGIN)
    functions = StructureFunctions(
        num_nodes=num_nodes,
        num_inner=one(_K.NUM_INNER),
        num_edges=one(_K.NUM_EDGES),
        num_batches=one(_K.NUM_BATCHES),
        num_roots=one(_K.NUM_ROOTS),
        widest_nodes=one(_K.WIDEST_NODES),
        widest_edges=one(_K.WIDEST_EDGES),
        batch_begin=batches[0],
        batch_length=batches[1],
        batch_edges=_edges_of_batch(*batches, child_begin),
        child_begin=child_begin,
        child=one(_K.CHILD),
        num_children=_difference("num_children", child_begin, Call(num_nodes)),
        roots=one(_K.ROOTS),
        positions={j: one(_K.POSITION, j) for j in plan.positions},
        payloads={
            payload.name: Function(
                payload.name, (Param(Var("n"), Call(num_nodes)),), Source.PAYLOAD, storage=payload.dtype
            )
            for payload in plan.payloads
            if payload.dtype.is_int and not payload.shape
        },
        carriers={
            name: Carriers(
                one(_K.NUM_CARRIERS, name),
                one(_K.NUM_INNER_CARRIERS, name),
                one(_K.CARRIER, name),
                one(_K.CARRIER_PLACE, name),
            )
            for name in plan.carriers
        },
        steps=Steps(
            plan.unrolled + 1,
            one(_K.NUM_STEPS),
            one(_K.NUM_TOPS),
            one(_K.TOP_BEGIN),
            _difference("step_tops", one(_K.TOP_BEGIN), Call(one(_K.NUM_STEPS)), "s"),
            one(_K.STEP_TOP),
            one(_K.HEIGHT),
            one(_K.STEP_GROUP),
        )
        if plan.unrolled
        else None,
        classes=class_ranges(
            *batches, [one(_K.CLASS_LENGTH, number) for number in range(len(plan.classes) - 1)]
        )
        if plan.classes
        else (),
        members=Members(
            one(_K.STRUCTURE_COUNT),
            one(_K.MEMBER_BEGIN),
            _difference("structure_nodes", one(_K.MEMBER_BEGIN), Call(one(_K.STRUCTURE_COUNT)), "s"),
            one(_K.MEMBER),
            one(_K.STRUCTURE_OF),
        )
        if plan.members
        else None,
        storage=Storage(one(_K.STORAGE_ROWS), one(_K.STORAGE_BEGIN), one(_K.STORAGE_ROW))
        if plan.recycled
        else None,
        facts=(),
    )
    return replace(functions, facts=tuple(structure_facts(plan, functions)))


def _function(array: IndexArray, sizes: dict[str, Function]) -> Function:
    if array.extent is None:
        return Function(array.name, (), Source.INPUT)
    size: Expr = Call(sizes[array.extent])
    extent = add(size, array.more) if array.more else size
    return Function(array.name, (Param(Var(array.parameter), extent),), Source.INPUT)


def _difference(name: str, offset: Function, extent: Expr, parameter: str = "n") -> Function:
    """Return `name(n) = offset(n + 1) - offset(n)`."""
    node = Var(parameter)
    body = sub(Call(offset, (add(Ref(node), 1),)), Call(offset, (Ref(node),)))
    return Function(name, (Param(node, extent),), Source.EXPRESSION, body)


def _edges_of_batch(begin: Function, length: Function, child_begin: Function) -> Function:
    """Return how many edges lead out of the nodes of each batch."""
    batch = Var("b")
    first = Call(begin, (Ref(batch),))
    last = add(first, Call(length, (Ref(batch),)))
    body = sub(Call(child_begin, (last,)), Call(child_begin, (first,)))
    return Function("batch_edges", (Param(batch, begin.params[0].extent),), Source.EXPRESSION, body)
