"""Bounds of operators' accesses: proofs, guards of padded loops, and checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

from ragged.analysis.obligations import (
    IndexObligation,
    divisions,
    element,
    guarded_parts,
    limits,
    reads_of_lengths,
)
from ragged.api.functions_of import Functions
from ragged.api.program import ScheduleDecisions
from ragged.api.storage import padded, stored_extent
from ragged.api.tensors import Kind, RaggedTensor, Reduction
from ragged.api.values import Value
from ragged.arith.fold import ZERO
from ragged.errors import ScheduleError
from ragged.ir.build import both, zero
from ragged.ir.expr import Binary, Expr, Load, Ref, Select, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.printer import expr_text
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, substitute
from ragged.ir.stmt import Check
from ragged.ir.walk import mentions, reads_memory
from ragged.layout.packed import PackedLayout
from ragged.passes.insert_checks import check_of
from ragged.prove import Proof, Prover, Unproven


@dataclass
class Bounds:
    """The obligations of a program's operators, in the API's own expressions."""

    decisions: ScheduleDecisions
    functions: Functions
    layouts: Mapping[RaggedTensor, PackedLayout]
    prover: Prover = field(init=False)

    def __post_init__(self) -> None:
        tables = self.functions.tables
        self.prover = Prover(Program("bounds", tuple(tables.functions), (), tuple(tables.facts), ()))
        self.tensors = {tensor.buffer: tensor for tensor in self.layouts}

    def loop_extent(self, tensor: RaggedTensor, position: int) -> Expr:
        """Return the extent of a loop of a tensor's nest, over the dimensions before it.

        Raises:
            ScheduleError: it is larger than the stored extent.
        """
        own = tensor.dims[position].extent.expr
        extent = padded(own, self.decisions.multiple(tensor, position))
        if extent != own and (tensor, position) in self.decisions.loops:
            self._require_stored(tensor, position, extent)
        return extent

    def _require_stored(self, tensor: RaggedTensor, position: int, extent: Expr) -> None:
        """Refuse a padded loop that would write into the next row."""
        var = tensor.dims[position].dim.var
        there = stored_extent(tensor, position, self.decisions)
        loops = [
            (tensor.dims[p].dim.var, self.functions.expr(tensor.dims[p].extent.expr)) for p in range(position)
        ]
        loops.append((var, self.functions.expr(extent)))
        goal = self.functions.expr(Binary(BinaryOp.LT, Ref(var), there))
        answer = self.prover.prove(goal, loops=loops)
        if isinstance(answer, Unproven):
            name = tensor.loops[position].name
            because = f"'{tensor.name}' is written for {name} < {expr_text(extent)}, and a row holds {expr_text(there)}"
            raise self._beyond_storage(tensor, position, tensor, position, because, answer)

    def _beyond_storage(
        self,
        tensor: RaggedTensor,
        padded_at: int,
        accessed: RaggedTensor,
        position: int,
        because: str,
        answer: Unproven,
    ) -> ScheduleError:
        """Return the error of a padded loop of `tensor` that accesses a dimension beyond its storage."""
        multiple = self.decisions.multiple(tensor, padded_at)
        name = self.decisions.owner(tensor, padded_at).loops[padded_at].name
        stored = self.decisions.storage.get((accessed, position), 1)
        return ScheduleError(
            f"pad_loop: cannot pad loop '{name}' to a multiple of {multiple}: '{accessed.name}' is stored "
            + (f"to a multiple of {stored}" if stored > 1 else "without padding"),
            at=tensor.at,
            because=because,
            example=answer.example,
            fix=f"pad_dimension({accessed.name}.dims[{position}], {multiple})",
        )

    def require_extents(self, tensor: RaggedTensor) -> None:
        """Refuse padded storage in which the extent of an inner dimension would be negative.

        Raises:
            ScheduleError: an extent decreases along a padded dimension.
        """
        multiples = [self.decisions.storage.get((tensor, place), 1) for place in range(len(tensor.dims))]
        loops = [
            (each.dim.var, self.functions.expr(padded(each.extent.expr, multiple)))
            for each, multiple in zip(tensor.dims, multiples, strict=True)
        ]
        for place, inner in enumerate(tensor.dims):
            outer = [
                p for p in range(place) if multiples[p] > 1 and mentions(inner.extent.expr, (loops[p][0],))
            ]
            goal = Binary(BinaryOp.LE, ZERO, self.functions.expr(inner.extent.expr))
            answer = self.prover.prove(goal, loops=loops[:place]) if outer else None
            if isinstance(answer, Unproven):
                raise ScheduleError(
                    f"pad_dimension: cannot pad dimension '{tensor.dims[outer[0]].dim.name}' of '{tensor.name}'",
                    at=tensor.at,
                    because=f"'{inner.dim.name}' extends {inner.extent.text()}, which may be negative beyond its end",
                    example=answer.example,
                )

    def guarded(self, tensor: RaggedTensor, value: Value) -> Expr:
        """Return a value with reads beyond an argument, or beyond the elements that a nest writes, replaced by zero.

        Only in padded loops; else the value is unchanged.

        Raises:
            ScheduleError: a read is beyond the storage of an operator's result or of a padded array.
        """
        if not self.decisions.is_padded(tensor):
            return value.expr
        missing: dict[Expr, list[Expr]] = {}
        for load, access in self._accesses(value):
            if self._plain(tensor, access):
                continue
            if not isinstance(self._answer(tensor, access), Proof):
                from_data = reads_memory(
                    access.index
                )  # where it is wrong the check has to say so, within a row
                inside = self._unpadded(tensor) if from_data else self._guard(tensor, load, access)
                assert inside is not None, "some loop is padded"
                missing.setdefault(load, []).append(inside)
            elif self.tensors[load.buffer].kind is Kind.COMPUTED:
                written = self._written(load, access)
                if not isinstance(self._answer(tensor, written), Proof):
                    missing.setdefault(load, []).append(written.inside)
        return _Guarded(missing).expr(value.expr) if missing else value.expr

    def _guard(self, tensor: RaggedTensor, load: Load, access: IndexObligation) -> Expr:
        other, position = self.tensors[load.buffer], access.position
        if other.kind is not Kind.COMPUTED and (other, position) not in self.decisions.storage:
            return access.inside
        answer = self._answer(tensor, access)
        assert isinstance(answer, Unproven)
        padded_at = max(p for p in range(len(tensor.dims)) if self.decisions.multiple(tensor, p) > 1)
        because = (
            f"'{other.name}' is read at {expr_text(access.index)}, and a row holds {expr_text(access.extent)}"
        )
        raise self._beyond_storage(tensor, padded_at, other, position, because, answer)

    def checks(self, tensor: RaggedTensor, value: Value, placed: Callable[[Expr], Expr]) -> Iterator[Check]:
        """Yield the checks of divisors and of computed indices; `placed` lowers their expressions."""
        if self.decisions.is_padded(tensor):
            value = Value(self.guarded(tensor, value), value.sources)
        seen: set[Expr] = set()
        paths: set[Expr] = set()
        for _, access in self._accesses(value):
            # What is read here is in bounds: accesses are innermost first.
            found = limits(access.index, access.path)
            if access.path is not None and access.path not in paths:
                paths.add(access.path)
                found = chain(limits(access.path, None), found)
            for limit in found:
                if limit.condition not in seen:
                    seen.add(limit.condition)
                    yield _placed(check_of(limit, tensor.at), placed)
            if self._plain(tensor, access) or access.condition in seen or _implied(access):
                continue
            seen.add(access.condition)
            yield _placed(check_of(access, tensor.at), placed)
        loops = [(var, self.functions.expr(extent)) for var, extent in self._loops(tensor)]
        for needed in reads_of_lengths(self.functions.expr(value.expr), loops):
            if needed.condition not in seen:
                seen.add(needed.condition)
                yield _placed(check_of(needed, tensor.at), placed)
        for division in divisions(value.expr, self._unpadded(tensor)):
            if division.condition not in seen:
                seen.add(division.condition)
                yield _placed(check_of(division, tensor.at), placed)

    def _unpadded(self, tensor: RaggedTensor) -> Expr | None:
        """Return the condition that padded loops are inside a tensor's extents, or None if no loop is padded."""
        inside: Expr | None = None
        for position, (each, index) in enumerate(zip(tensor.dims, tensor.indices, strict=True)):
            if self.decisions.multiple(tensor, position) > 1:
                end = substitute(each.extent.expr, tensor.index_of_dim)
                inside = both(inside, Binary(BinaryOp.LT, Ref(index), end))
        return inside

    def _accesses(self, value: Value) -> Iterator[tuple[Load, IndexObligation]]:
        """Yield the indices of a value's reads."""
        for inner, path in guarded_parts(value.expr):
            if not isinstance(inner, Load):
                continue
            tensor = self.tensors[inner.buffer]
            own = {each.dim.var: index for each, index in zip(tensor.dims, inner.indices, strict=True)}
            shape = tuple(
                substitute(stored_extent(tensor, p, self.decisions), own) for p in range(len(tensor.dims))
            )
            for access in element(tensor.name, inner.indices, shape, path):
                yield inner, access

    def _written(self, load: Load, access: IndexObligation) -> IndexObligation:
        """Return the access with the written extent in place of the stored one, which may be larger."""
        tensor, position = self.tensors[load.buffer], access.position
        own = {d.dim.var: index for d, index in zip(tensor.dims, load.indices, strict=True)}
        end = padded(tensor.dims[position].extent.expr, self.decisions.multiple(tensor, position))
        return replace(access, extent=substitute(end, own))

    def _plain(self, tensor: RaggedTensor, access: IndexObligation) -> bool:
        return access.is_plain(dict(self._loops(tensor)))

    def _loops(self, tensor: RaggedTensor) -> list[tuple[Var, Expr]]:
        """Return the loops around a tensor's body, over its indices and its reduction's axes."""
        loops = [
            (index, substitute(self.loop_extent(tensor, position), tensor.index_of_dim))
            for position, index in enumerate(tensor.indices)
        ]
        if isinstance(tensor.body, Reduction):
            loops += [(axis.var, axis.extent.expr) for axis in tensor.body.axes]
        return loops

    def _answer(self, tensor: RaggedTensor, access: IndexObligation) -> Proof | Unproven:
        loops = [(var, self.functions.expr(extent)) for var, extent in self._loops(tensor)]
        return self.prover.prove(self.functions.expr(access.condition), loops=loops)


def _placed(check: Check, placed: Callable[[Expr], Expr]) -> Check:
    return replace(check, condition=placed(check.condition), witness=tuple(map(placed, check.witness)))


def _implied(access: IndexObligation) -> bool:
    """True if the obligation is a conjunct of the condition under which the index is evaluated."""
    conjuncts = [] if access.path is None else [access.path]
    for each in conjuncts:
        if isinstance(each, Binary) and each.op is BinaryOp.AND and each != access.inside:
            conjuncts += [each.lhs, each.rhs]
    return access.inside in conjuncts


class _Guarded(Rewriter):
    """Rewrites loads to zero where their conditions do not hold."""

    def __init__(self, missing: Mapping[Expr, list[Expr]]) -> None:
        super().__init__()
        self.missing = missing

    def expr(self, expr: Expr) -> Expr:
        if not isinstance(expr, Load) or expr not in self.missing:
            return super().expr(expr)
        inside: Expr | None = None
        for condition in self.missing[expr]:
            inside = both(inside, condition)
        assert inside is not None
        return Select(inside, super().expr(expr), zero(expr.dtype))
