"""pair_products: sum bfloat16 products in pairs, as processors have an instruction for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ragged.analysis.buffers import appended
from ragged.analysis.dependence import storage
from ragged.analysis.matrix_nests import whole_tiles
from ragged.analysis.parameter_contractions import ColumnLoop, ParameterSum, reads, sum_at
from ragged.arith.affine import affine
from ragged.arith.fold import plus, times
from ragged.ir.build import zero
from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Buffer, Call, Const, Dim, Expr, Load, Ref, Role, Select, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import Rewriter, Rewritten, substitute
from ragged.ir.sites import sites
from ragged.ir.stmt import Block, For, Label, Let, Reduce, Stmt, Store, block
from ragged.ir.walk import loads, mentions, written

_ZERO = Const(0.0, DType.FLOAT32)
_MOST_WORK = 4
"""Whole tiles that are more times the work of a sum do not pay, however fast a matrix unit is."""


def pair_products(program: Program, updates: Sequence[Label], multiple: int = 1) -> Rewritten:
    """Round both factors of sums of products with a parameter to bfloat16, and sum the products up two at a time.

    before::

        W: parameter(float32[256, 64])

        with kernel:
            for n in parallel(num_nodes, N):
                for i in serial(256):
                    y[n, i] = 0.0
                    for j in serial(64):
                        y[n, i] += W[i, j] * x[n, j]

    after::

        W: parameter(float32[256, 64])
        W_pairs: bound(bfloat16x2[256, 32])
        x_pairs: workspace(bfloat16x2[num_nodes, 32], dims=(N, None))

        with bind:
            for W_0 in serial(256):
                for W_1 in serial(32):
                    W_pairs[W_0, W_1] = pair(W[W_0, W_1 * 2], W[W_0, W_1 * 2 + 1])

        with kernel:
            for n in parallel(num_nodes, N):
                for j in serial(32):
                    x_pairs[n, j] = pair(x[n, j * 2], x[n, j * 2 + 1])
                for i in serial(256):
                    y[n, i] = 0.0
                    for j in serial(32):
                        y[n, i] += dot(W_pairs[i, j], x_pairs[n, j])

    The program computes something else, on purpose: factors are rounded, to eight bits each. The sums stay in float32
    and in their order. Of an odd number of products the last one is paired with zero. Products of the same thing, one
    after another in the text, share its pairs.

    For a matrix unit that takes a `multiple` of them at once, the last pairs are of zeros. The columns of a parameter,
    if they are all summed for one workspace, are whole tiles of so many in it too, the last ones sums of zeros: an even
    number of tiles from five on, and from thirteen on four by four, so that slices of them can be equal.

    Raises:
        ScheduleError: a label is of no sum of products in the kernel over one loop of constant extent, or of one that
            is not of float32; something else stands in that loop; neither factor is an element of a parameter that the
            loop goes along a dimension of; or what it adds to is not indexed by the loops around it one by one.
    """
    wanted = set(updates)
    found = [site for site in sites(program) if getattr(site.stmt, "label", None) in wanted]
    rewriter = _Pairs(taken={buffer.name for buffer in program.buffers}, multiple=multiple)
    for site in found:
        rewriter.add(sum_at(site))
    stages = tuple(
        replace(stage, body=rewriter.stmt(stage.body)) if stage.kind is StageKind.KERNEL else stage
        for stage in program.stages
    )
    buffers = [rewriter.wider.get(buffer, buffer) for buffer in program.buffers]
    new = replace(program, buffers=(*buffers, *rewriter.made), stages=stages)
    for fill in rewriter.fills:
        new = appended(new, StageKind.BIND, fill)
    return rewriter.finish(program, new)


@dataclass(frozen=True, slots=True)
class _PairedRows:
    """The paired rows of one factor, stored in `buffer`, filled before the loop `root` of `body`."""

    of: Expr
    prefix: tuple[Expr, ...]
    extents: tuple[Expr, ...]
    buffer: Buffer
    body: Stmt
    root: Var

    def serves(
        self, of: Expr, prefix: tuple[Expr, ...], extents: tuple[Expr, ...], body: Stmt, root: Var
    ) -> bool:
        """Return whether these are the pairs of a factor before another loop of the same body, and as many."""
        if (self.of, self.prefix, self.extents) != (of, prefix, extents):
            return False
        if self.body is not body or not isinstance(body, Block):
            return False
        places = [part.var if isinstance(part, For) else None for part in body.body]
        between = body.body[places.index(self.root) : places.index(root)]
        return not reads(of) & {storage(buffer) for part in between for buffer in written(part)}


class _PairedSum(NamedTuple):
    """A sum, the table of its parameter's pairs, the pair of the other factor, and how many pairs it adds up."""

    sum: ParameterSum
    table: Buffer
    row: Load
    half: Const


@dataclass
class _Pairs(Rewriter):
    """Puts sums of pairs in place of sums, and what makes the pairs before them."""

    taken: set[str] = field(kw_only=True)
    multiple: int = field(kw_only=True)
    made: list[Buffer] = field(default_factory=list)
    fills: list[Stmt] = field(default_factory=list)
    tables: dict[tuple[Buffer, int, int, int, int | None, Const], Buffer] = field(default_factory=dict)
    wider: dict[Buffer, Buffer] = field(default_factory=dict)
    columns: set[Var] = field(default_factory=set)
    rows: list[_PairedRows] = field(default_factory=list)
    before: dict[Var, list[Stmt]] = field(default_factory=dict)
    sums: dict[Label, _PairedSum] = field(default_factory=dict)
    places: dict[int, Var] = field(default_factory=dict)

    def add(self, sum: ParameterSum) -> None:
        """Note a sum that is to be of pairs, in the order of the text."""
        columns, half = sum.columns() if self.multiple > 1 else None, sum.half(self.multiple)
        if not self._pays(sum, columns):
            columns, half = None, sum.half()
        table = self._table(sum, columns, half)
        self.sums[sum.update.label] = _PairedSum(sum, table, self._row(sum, half), half)
        if columns is not None and columns.loop.var not in self.columns:
            self.columns.add(columns.loop.var)
            target = sum.update.buffer
            wide = self.wider.get(target, target)
            shape = tuple(
                whole_tiles(e, self.multiple) if d == columns.place else e for d, e in enumerate(wide.shape)
            )
            self.wider[target] = replace(target, shape=shape)

    def _pays(self, sum: ParameterSum, columns: ColumnLoop | None) -> bool:
        """Return whether whole tiles are at most a few times the work."""
        work, whole = int(sum.half().value), int(sum.half(self.multiple).value)
        if columns is not None:
            assert isinstance(columns.loop.extent, Const)
            work *= int(columns.loop.extent.value)
            whole *= int(whole_tiles(columns.loop.extent, self.multiple).value)
        return whole <= _MOST_WORK * work

    def _table(self, sum: ParameterSum, columns: ColumnLoop | None, half: Const) -> Buffer:
        parameter, along = sum.weight.buffer, sum.along
        across = None if columns is None else columns.dimension
        key = (parameter, along, sum.first, sum.extent, across, half)
        if key not in self.tables:
            shape = tuple(
                half if d == along else whole_tiles(extent, self.multiple) if d == across else extent
                for d, extent in enumerate(parameter.shape)
            )
            dims = tuple(None if d == along else dim for d, dim in enumerate(parameter.dims))
            table = self._new(f"{parameter.name}_pairs", shape, Role.BOUND, dims)
            loops = [Var(f"{parameter.name}_{d}") for d in range(len(shape))]

            def element(place: Expr) -> Expr:
                own = plus(place, Const(sum.first))
                return Load(parameter, tuple(own if d == along else Ref(v) for d, v in enumerate(loops)))

            value = _paired(Ref(loops[along]), sum.extent, element, half)
            if across is not None and shape[across] != parameter.shape[across]:
                there = Binary(BinaryOp.LT, Ref(loops[across]), parameter.shape[across])
                value = Select(there, value, zero(DType.BFLOAT16X2))
            fill: Stmt = Store(Label(table.name), table, tuple(map(Ref, loops)), value)
            for loop, extent in zip(reversed(loops), reversed(shape), strict=True):
                fill = For(loop, extent, fill)
            self.fills.append(fill)
            self.tables[key] = table
        return self.tables[key]

    def _row(self, sum: ParameterSum, half: Const) -> Load:
        """Return the pair of the factor that is no parameter, at the sum's loops; it is made before them."""
        over, outputs = sum.over, [loop.var for loop in sum.outputs]
        kept = [d for d, index in enumerate(sum.update.indices) if not mentions(index, outputs)]
        by = [_looked_up_by(sum, sum.update.indices[d]) for d in kept]
        prefix = tuple(
            sum.update.indices[d] if loop is None else Ref(loop.var) for d, loop in zip(kept, by, strict=True)
        )
        of = substitute(sum.other, self._canonical(over))
        root, body = sum.outputs[0].var, sum.body
        extents = (*(loop.extent for loop in over), half)
        known = next((rows for rows in self.rows if rows.serves(of, prefix, extents, body, root)), None)
        if known is None:
            target = sum.update.buffer
            stored = (half if loop is sum.axis else loop.extent for loop in over)
            rows = [
                (target.shape[d], target.dims[d]) if looked_up is None else (looked_up.extent, looked_up.dim)
                for d, looked_up in zip(kept, by, strict=True)
            ]
            shape = (*(extent for extent, _ in rows), *stored)
            dims = (*(dim for _, dim in rows), *(loop.dim for loop in over))
            read = (part.buffer.name for part in loads(sum.other))
            buffer = self._new(f"{next(read, 'values')}_pairs", shape, Role.WORKSPACE, dims)
            known = _PairedRows(of, prefix, extents, buffer, body, root)
            self.rows.append(known)
            self.before.setdefault(root, []).append(self._made(sum, over, known, half))
        return Load(known.buffer, (*prefix, *(Ref(loop.var) for loop in over)))

    def _made(self, sum: ParameterSum, over: Sequence[For], rows: _PairedRows, half: Const) -> Stmt:
        """Return the nest that makes pairs."""
        copies = {loop.var: Var(loop.var.name) for loop in over}
        own: Mapping[Var, Expr] = {var: Ref(copy) for var, copy in copies.items() if var is not sum.axis.var}
        other, place = substitute(sum.other, own), copies[sum.axis.var]
        value = _paired(Ref(place), sum.extent, lambda index: substitute(other, {sum.axis.var: index}), half)
        indices = (*rows.prefix, *map(Ref, copies.values()))
        nest: Stmt = Store(Label(rows.buffer.name), rows.buffer, indices, value)
        for loop in reversed(over):
            extent = half if loop is sum.axis else loop.extent
            nest = replace(loop, var=copies[loop.var], extent=extent, body=nest)
        return nest

    def _canonical(self, loops: Sequence[For]) -> Mapping[Var, Expr]:
        """Return what stands for loops when expressions of different loops are compared."""
        return {loop.var: Ref(self.places.setdefault(p, Var(f"place_{p}"))) for p, loop in enumerate(loops)}

    def _new(self, name: str, shape: tuple[Expr, ...], role: Role, dims: tuple[Dim | None, ...]) -> Buffer:
        numbered = (f"{name}_{k}" for k in range(1, len(self.taken) + 2))
        free = next(each for each in (name, *numbered) if each not in self.taken)
        self.taken.add(free)
        self.made.append(Buffer(free, DType.BFLOAT16X2, shape, role, dims))
        return self.made[-1]

    def stmt(self, stmt: Stmt) -> Stmt:
        match stmt:
            case For(var=var) if var in self.before:
                return block(*map(self.stmt, self.before[var]), self._within(stmt))
            case For():
                return self._within(stmt)
            case Reduce(label=label) if label in self.sums:
                sum, table, row, _ = self.sums[label]
                places = (
                    Ref(sum.axis.var) if d == sum.along else p for d, p in enumerate(sum.weight.indices)
                )
                weight = Load(table, tuple(places), sum.weight.at)
                factors = (weight, row) if sum.lhs else (row, weight)
                value = Binary(BinaryOp.DOT, *factors, getattr(stmt.value, "at", None))
                return super().stmt(replace(stmt, value=value))
            case _:
                return super().stmt(stmt)

    def _within(self, loop: For) -> Stmt:
        new, inner = super().stmt(loop), loop.body
        if isinstance(inner, Reduce) and inner.label in self.sums and isinstance(new, For):
            return replace(new, extent=self.sums[inner.label].half)
        return (
            replace(new, extent=whole_tiles(loop.extent, self.multiple))
            if loop.var in self.columns and isinstance(new, For)
            else new
        )

    def access(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
        own, inner = super().access(buffer, indices)
        return self.wider.get(own, own), inner


def _looked_up_by(sum: ParameterSum, index: Expr) -> For | None:
    """Return the outermost loop, if rows are looked up by its iterations one by one: pairs need no such detour."""
    lets = {outer.var: outer.value for outer in sum.site.around if isinstance(outer, Let)}
    match lets.get(index.var) if isinstance(index, Ref) else index:
        case Call(args=(place,)) if affine(place).expr == Ref(sum.site.loops[0].var):
            return sum.site.loops[0]
        case _:
            return None


def _paired(place: Expr, extent: int, element: Callable[[Expr], Expr], half: Const) -> Expr:
    """Return the pair of the elements `2 * place` and the next one, of `half` pairs; beyond the end they are zero."""

    def within(index: Expr, last: int) -> Expr:
        value = element(index)
        return value if last < extent else Select(Binary(BinaryOp.LT, index, Const(extent)), value, _ZERO)

    first, second = times(place, Const(2)), plus(times(place, Const(2)), Const(1))
    most = 2 * int(half.value)
    return Binary(BinaryOp.PAIR, within(first, most - 2), within(second, most - 1))
