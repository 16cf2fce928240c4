"""The loops over roots: copies of the roots' rows of results, and what is computed at roots alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cortex.ilir.structure import ROOT, StructureFunctions
from cortex.ra.base import ModelTensor
from cortex.ra.lower.buffers import Buffers
from cortex.ra.lower.case_facts import CaseFacts
from cortex.ra.lower.nests import Nests
from cortex.ra.lower.translate import Carrier, ConstantParts
from cortex.ra.model import Model
from cortex.ra.tensor import Compute
from ragged.ir.expr import Buffer, Call, Const, Load, Ref, Var
from ragged.ir.stmt import For, Label, Let, LoopKind, Stmt, Store, block


def gathered_roots(functions: StructureFunctions, results: Mapping[Buffer, Buffer]) -> Iterator[Stmt]:
    """Yield the loop that copies the roots' rows of each key of `results` to its value; none if empty."""
    if not results:
        return
    place, node = Var("r"), Var("root")
    copies = block(*(_copied(nodes, roots, place, node) for nodes, roots in results.items()))
    yield _over_roots(functions, place, node, copies)


def computed_at_roots(model: Model, buffers: Buffers, constant: ConstantParts) -> Iterator[Stmt]:
    """Yield the loop that computes the heads of a model, and what they alone read; none if it has no heads.

    What the recursion computes is read from the outputs' rows of the root, and what is `constant` from its buffers.
    """
    if not model.heads:
        return
    place, node = Var("r"), Var("root")
    held: dict[ModelTensor, Buffer] = {body: buffers.outputs[ph] for ph, body in model.outputs.values()}
    nests = Nests(
        buffers, CaseFacts(), held.__getitem__, Ref(node), constant, carrier=Carrier(None, Ref(place))
    )
    parts: list[Stmt] = []
    for tensor in model.root_computes:
        assert isinstance(tensor, Compute), "the checks of the language refuse branches"
        extents = tuple(Const(index.extent) for index in tensor.indices)
        if tensor in buffers.heads:
            held[tensor] = buffers.heads[tensor]
        else:
            held[tensor] = buffers.carriers(model.names[tensor], tensor.dtype, extents, None)
            buffers.root_temporaries.append(held[tensor])
        parts.append(nests.compute(tensor, held[tensor]))
    yield _over_roots(buffers.functions, place, node, block(*parts))


def _over_roots(functions: StructureFunctions, place: Var, node: Var, body: Stmt) -> Stmt:
    bound = Let(node, Call(functions.roots, (Ref(place),)), body)
    return For(place, Call(functions.num_roots), bound, LoopKind.PARALLEL, ROOT)


def _copied(nodes: Buffer, roots: Buffer, place: Var, node: Var) -> Stmt:
    loops = [Var(name) for name in ("i", "j", "k", "l")[: len(nodes.shape) - 1]]
    loops += [Var(f"i{d}") for d in range(len(loops), len(nodes.shape) - 1)]
    rest = tuple(map(Ref, loops))
    nest: Stmt = Store(Label(roots.name), roots, (Ref(place), *rest), Load(nodes, (Ref(node), *rest)))
    for var, extent in reversed(list(zip(loops, nodes.shape[1:], strict=True))):
        nest = For(var, extent, nest)
    return nest
