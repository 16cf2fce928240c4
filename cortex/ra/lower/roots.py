"""Copies the roots' rows of results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cortex.ilir.structure import ROOT, StructureFunctions
from ragged.ir.expr import Buffer, Call, Load, Ref, Var
from ragged.ir.stmt import For, Label, Let, LoopKind, Stmt, Store, block


def gathered_roots(functions: StructureFunctions, results: Mapping[Buffer, Buffer]) -> Iterator[Stmt]:
    """Yield the loop that copies the roots' rows of each key of `results` to its value; none if empty."""
    if not results:
        return
    place, node = Var("r"), Var("root")
    copies = block(*(_copied(nodes, roots, place, node) for nodes, roots in results.items()))
    bound = Let(node, Call(functions.roots, (Ref(place),)), copies)
    yield For(place, Call(functions.num_roots), bound, LoopKind.PARALLEL, ROOT)


def _copied(nodes: Buffer, roots: Buffer, place: Var, node: Var) -> Stmt:
    loops = [Var(name) for name in ("i", "j", "k", "l")[: len(nodes.shape) - 1]]
    loops += [Var(f"i{d}") for d in range(len(loops), len(nodes.shape) - 1)]
    rest = tuple(map(Ref, loops))
    nest: Stmt = Store(Label(roots.name), roots, (Ref(place), *rest), Load(nodes, (Ref(node), *rest)))
    for var, extent in reversed(list(zip(loops, nodes.shape[1:], strict=True))):
        nest = For(var, extent, nest)
    return nest
