"""pack: store a parameter or an input in a tiled and permuted layout, when it is bound or at the kernel's start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ragged.analysis.accesses import accesses
from ragged.analysis.buffers import (
    appended,
    check_alone,
    check_free,
    check_known,
    is_size_expr,
    prepended,
    table_shape,
)
from ragged.analysis.site_of import site_of
from ragged.analysis.tiled_layout import TiledLayout, tiled_layout
from ragged.arith.bindings import Bindings, bindings
from ragged.arith.fold import ZERO, modulo, plus, times
from ragged.errors import ScheduleError
from ragged.ir.build import both, zero
from ragged.ir.expr import Binary, Buffer, Const, Expr, Load, Ref, Role, Select, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.sites import Site
from ragged.ir.stmt import For, Label, LoopKind, Reduce, Stmt, Store, block
from ragged.ir.walk import statements
from ragged.transform.locate import Replace


def pack(
    program: Program,
    parameter: Buffer,
    name: str,
    tiles: Sequence[tuple[int, int]],
    order: Sequence[int],
    *,
    first: bool = False,
    multiple: int = 1,
    only: Label | None = None,
) -> Rewritten:
    """Read a parameter or an input from a table `name` that holds its values tiled, in another order of dimensions.

    `tiles` are dimensions and what they are divided by: a dimension d of extent e becomes two, of
    `(e + factor - 1) // factor` blocks and of `factor` places in a block. `order` permutes what the dimensions
    have become: position k of the table's dimensions is `order[k]` of theirs, in which those of a tiled dimension
    stand side by side.

    before::

        U: parameter(float32[256, 256])

        with kernel:
            for io in serial(16):
                for j in serial(256):
                    for ii in serial(16):
                        t[io * 16 + ii] += U[io * 16 + ii, j] * v[j]

    after `pack(program, U, "U_packed", ((0, 16),), (0, 2, 1))`::

        U: parameter(float32[256, 256])
        U_packed: bound(float32[16, 256, 16])

        with bind:
            for U_0 in serial(16):
                for U_1 in serial(256):
                    for U_2 in serial(16):
                        U_packed[U_0, U_1, U_2] = U[U_0 * 16 + U_2, U_1]

        with kernel:
            for io in serial(16):
                for j in serial(256):
                    for ii in serial(16):
                        t[io * 16 + ii] += U_packed[io, j, ii] * v[j]

    What is left over of the last block holds zeros, and so do places that are added to each block up to a `multiple`:
    blocks of 75 columns by 16 are stored as 80. A table of parameters, as `concat_buffers` and `pack` make them,
    can be packed as well. What the bind stage reads it reads from where it did, and so does the prelude of an input;
    unless `first`: the table is then filled before all else, and read in the bind stage and not in the kernel.

    The table of an input is a workspace that the kernel fills before all else; the outermost loop that fills it is
    parallel. With `only` that statement alone reads it, and it is filled before the loops around that. Sizes among the
    extents of a parameter are known when it is bound, so that its table is filled then.

    Raises:
        ScheduleError: the buffer is no parameter, table or input, its extents are no numbers (of an input: no sizes),
            or the kernel does not read it, with `first` the bind stage; a table of the bind stage, or an input, is to
            be filled first; a team runs a kernel that reads an input; the tiles or the order are not of its dimensions;
            the multiple is less than 1; the name is taken.
    """
    check_known(program, parameter, "pack")
    check_alone(program, parameter, "pack")
    sized = parameter.role is Role.PARAMETER and not all(isinstance(each, Const) for each in parameter.shape)
    given = parameter.role is Role.PAYLOAD
    if given:
        _check_no_team(program, parameter)
    shape = (
        _sized_shape(parameter)
        if given or (sized and not first)
        else tuple(map(Const, table_shape(parameter, "pack")))
    )
    check_free(program, name, "pack")
    _check_read(program, parameter, first, given)
    layout = tiled_layout(parameter, shape, tiles, order, multiple)
    role = Role.WORKSPACE if given else Role.BOUND
    table = Buffer(name, parameter.dtype, layout.shape, role, layout.names(parameter))
    rewriter = _Read(old=parameter, new=table, layout=layout, known=bindings(program), only=only)
    readers = _readers(first=first, given=given)
    stages = tuple(
        replace(stage, body=rewriter.stmt(stage.body)) if stage.kind in readers else stage
        for stage in program.stages
    )
    new = replace(program, buffers=(*program.buffers, table), stages=stages)
    filled = _filled(parameter, shape, table, layout)
    if given:
        assert isinstance(filled, For), "an input that is packed has dimensions"
        nest = None if only is None else site_of(program, only)
        done = _before(new, replace(filled, kind=LoopKind.PARALLEL), nest)
    else:
        done = prepended(new, filled) if first else appended(new, StageKind.BIND, filled)
    return rewriter.finish(program, done)


def _sized_shape(given: Buffer) -> tuple[Expr, ...]:
    """Return the shape, of numbers and sizes, of an input or a parameter, or raise `ScheduleError`."""
    if not given.shape or not all(is_size_expr(extent) for extent in given.shape):
        raise ScheduleError(
            f"pack: '{given.name}' cannot be packed",
            because="its extents are not all numbers and sizes of the call",
            fix="pack an input without rows of different lengths",
        )
    return given.shape


def _check_no_team(program: Program, given: Buffer) -> None:
    """Raise `ScheduleError` if workers share the kernel, which fills the table of an input."""
    if any(
        isinstance(stmt, For) and stmt.kind in (LoopKind.TEAM, LoopKind.THREADS)
        for stmt in statements(program.kernel)
    ):
        raise ScheduleError(
            f"pack: '{given.name}' cannot be packed in the kernel",
            because="a team runs the kernel: each worker would fill the whole table",
            fix="pack before distribute_over_team",
        )


def _before(program: Program, filled: Stmt, reader: Site | None) -> Program:
    """Return the program with a nest at the beginning of its kernel, or before the loops around a reader."""
    if reader is not None and reader.loops:
        return (
            Replace(loop=reader.loops[0].var, change=lambda loop, _: block(filled, loop))
            .program(program)
            .program
        )
    return replace(
        program,
        stages=tuple(
            replace(stage, body=block(filled, stage.body)) if stage.kind is StageKind.KERNEL else stage
            for stage in program.stages
        ),
    )


def _readers(*, first: bool, given: bool) -> frozenset[StageKind]:
    """Return the stages that read a table: after the one that fills it."""
    if first:
        return frozenset({StageKind.BIND})
    return frozenset({StageKind.KERNEL} if given else {StageKind.PRELUDE, StageKind.KERNEL})


def _check_read(program: Program, parameter: Buffer, first: bool, given: bool) -> None:
    """Refuse a parameter that the readers of the table do not read, or that is not available in the bind stage."""
    readers = _readers(first=first, given=given)
    if not any(use.site.stage.kind in readers for use in accesses(program, parameter)):
        reads = "the bind stage does not read" if first else "nothing but the bind stage reads"
        reads = "the kernel does not read" if given and not first else reads
        raise ScheduleError(
            f"pack: {reads} '{parameter.name}'",
            because="another layout would change nothing",
            fix=f"name what the {'bind stage' if first else 'kernel'} reads",
        )
    if first and parameter.role is not Role.PARAMETER:
        raise ScheduleError(
            f"pack: '{parameter.name}' is no parameter",
            because="the bind stage fills it, so that nothing can be made of it before",
            fix="pack the parameters that it is made from",
        )


def _filled(parameter: Buffer, shape: tuple[Expr, ...], table: Buffer, layout: TiledLayout) -> Stmt:
    """Return the nest that fills the table."""
    loops = [Var(f"{parameter.name}_{position}") for position in range(len(layout.pieces))]
    source: list[Expr] = [Const(0)] * len(shape)
    there: Expr | None = None
    for var, piece in zip(loops, layout.pieces, strict=True):
        if piece.inner and piece.extent != Const(piece.factor):
            there = both(there, Binary(BinaryOp.LT, Ref(var), Const(piece.factor)))
        share = Ref(var) if piece.inner else times(Ref(var), Const(piece.factor))
        block_first = (source[piece.dimension], share) if piece.inner else (share, source[piece.dimension])
        source[piece.dimension] = plus(*block_first)
    for dimension in sorted({piece.dimension for piece in layout.pieces if piece.inner}):
        factor = next(piece.factor for piece in layout.pieces if piece.dimension == dimension)
        if modulo(shape[dimension], factor) != ZERO:
            there = both(there, Binary(BinaryOp.LT, source[dimension], shape[dimension]))
    value: Expr = Load(parameter, tuple(source))
    if there is not None:
        value = Select(there, value, zero(table.dtype))
    nest: Stmt = Store(Label(table.name), table, tuple(map(Ref, loops)), value)
    for var, piece in zip(reversed(loops), reversed(layout.pieces), strict=True):
        nest = For(var, piece.extent, nest)
    return nest


@dataclass
class _Read(Rewriter):
    old: Buffer = field(kw_only=True)
    new: Buffer = field(kw_only=True)
    layout: TiledLayout = field(kw_only=True)
    known: Bindings = field(kw_only=True)
    only: Label | None = field(kw_only=True)

    def stmt(self, stmt: Stmt) -> Stmt:
        leaves_it = self.only is not None and isinstance(stmt, Store | Reduce) and stmt.label is not self.only
        return stmt if leaves_it else super().stmt(stmt)

    def access(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
        own, inner = super().access(buffer, indices)
        return (self.new, self.layout.place(inner, self.known)) if buffer is self.old else (own, inner)
