"""Distances between iterations of two loop nests that depend on each other, by their outer loops alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ragged.ir.expr import Buffer, Expr, Var
from ragged.ir.sites import Site, path_to, regions
from ragged.ir.walk import mentions, read, written
from ragged.polyhedral.context import PolyhedralLimitError, isl_context
from ragged.polyhedral.statements import AffineText


@dataclass(frozen=True, slots=True)
class AlignedNest:
    """A nest of `statements`, and its outer loops that are compared with those of other nests, one by one."""

    statements: tuple[Site, ...]
    loops: tuple[Var, ...]

    def touched(self) -> tuple[frozenset[Buffer], frozenset[Buffer]]:
        """Return what the nest reads and what it writes."""
        none = frozenset[Buffer]()
        stmts = [each.stmt for each in self.statements]
        return none.union(*map(read, stmts)), none.union(*map(written, stmts))


def coincident(earlier: Sequence[AlignedNest], later: AlignedNest) -> tuple[bool, ...]:
    """Return for each aligned loop whether dependent iterations of `later` and `earlier` have equal values of it.

    Accesses are those of whole iterations of the aligned loops, whatever conditions hold there: such coarse relations
    are few and have few dimensions. A question takes one or two milliseconds, where dependences between statements take
    a hundred. Nests share no buffer that is allocated in them.

    Raises:
        PolyhedralLimitError: isl gave up, or memory has two names.
    """
    reads, writes = later.touched()
    before = [each.touched() for each in earlier]
    shared = frozenset[Buffer]().union(*((writes & (r | w)) | (reads & w) for r, w in before))
    if not shared:
        return (True,) * len(later.loops)
    for buffer in reads | writes:
        if buffer.aliases is not None:
            raise PolyhedralLimitError(f"'{buffer.name}' is another name of memory")
    names = {buffer: f"A{number}" for number, buffer in enumerate(shared)}
    parameters: dict[str, Expr] = {}
    texts = [
        [{text for nest in nests for text in _elements(nest, names, parameters, kind)} for kind in (0, 1)]
        for nests in (earlier, (later,))
    ]
    with isl_context() as isl:
        from islpy import UnionMap

        def relation(parts: Collection[str]) -> Any:
            return UnionMap.read_from_str(isl, f"[{', '.join(parameters)}] -> {{ {'; '.join(parts)} }}")

        (r_first, w_first), (r_then, w_then) = ([relation(each) for each in side] for side in texts)
        touched_then = r_then.union(w_then).reverse()
        found = w_first.apply_range(touched_then).union(r_first.apply_range(w_then.reverse()))
        distances = found.deltas()
        return tuple(_is_zero(distances, place, len(later.loops)) for place in range(len(later.loops)))


def _elements(
    nest: AlignedNest, names: dict[Buffer, str], parameters: dict[str, Expr], kind: int
) -> Iterator[str]:
    """Yield which elements iterations of the aligned loops read (`kind` 0) or write (1), as texts."""
    for site in nest.statements:
        found = regions(site)
        for access in (found.reads, found.writes)[kind]:
            if access.buffer not in names:
                continue
            used = [
                (var, extent)
                for var, extent in path_to(site).ranges
                if var in nest.loops or any(mentions(index, (var,)) for index in access.indices)
            ]
            text = AffineText([var for var, _ in used], parameters=parameters)
            places = [f"a{number}" for number in range(len(access.indices))]
            held = [f"0 <= {text.names[var]} < {text.integer(extent)}" for var, extent in used]
            held += [f"{a} = {text.integer(index)}" for a, index in zip(places, access.indices, strict=True)]
            inner = [text.names[var] for var, _ in used if var not in nest.loops]
            bound = f"exists {', '.join(inner)} : " if inner else ""
            point = ", ".join(text.names[var] for var in nest.loops)
            yield f"[{point}] -> {names[access.buffer]}[{', '.join(places)}] : {bound}{text.all_of(held)}"


def _is_zero(distances: Any, place: int, count: int) -> bool:
    """Return whether all distances are 0 in one dimension."""
    from islpy import UnionSet

    point = ", ".join(f"d{number}" for number in range(count))
    other = UnionSet.read_from_str(distances.get_ctx(), f"{{ [{point}] : d{place} != 0 }}")
    return bool(distances.intersect(other).is_empty())
