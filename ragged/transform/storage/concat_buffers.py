"""concat_buffers: several parameters, or workspaces, of one shape as one buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ragged.analysis.buffers import appended, check_alone, check_free, check_known, table_shape
from ragged.errors import ScheduleError
from ragged.ir.expr import Buffer, Const, Expr, Load, Ref, Role, Var
from ragged.ir.printer import expr_text
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.stmt import For, Label, Stmt, Store


def concat_buffers(program: Program, parameters: Sequence[Buffer], name: str) -> Rewritten:
    """Read several parameters from one table `name`, with a dimension more in front: which of them; or workspaces.

    before::

        W: parameter(float32[256, 64])
        U: parameter(float32[256, 64])

        with kernel:
            ...
                y[i] = W[i, j] + U[i, j]

    after `concat_buffers(program, (W, U), "WU")`::

        W: parameter(float32[256, 64])
        U: parameter(float32[256, 64])
        WU: bound(float32[2, 256, 64])

        with bind:
            for W_0 in serial(256):
                for W_1 in serial(64):
                    WU[0, W_0, W_1]: WU.W = W[W_0, W_1]
            for U_0 in serial(256):
                for U_1 in serial(64):
                    WU[1, U_0, U_1]: WU.U = U[U_0, U_1]

        with kernel:
            ...
                y[i] = WU[0, i, j] + WU[1, i, j]

    Workspaces are stacked likewise: `y_o[n, i]` and `y_u[n, i]` become `y[0, n, i]` and `y[1, n, i]`, and go.

    `pack` then gives the table a layout in which what is read together stands together: gates side by side.

    Raises:
        ScheduleError: there are fewer than two; one is given twice, or is no parameter, table or workspace; their
            shapes, dtypes or roles differ, or a parameter's extents are no numbers; the name is taken.
    """
    if len(set(parameters)) < max(len(parameters), 2):
        given = ", ".join(f"'{parameter.name}'" for parameter in parameters)
        raise ScheduleError(
            f"concat_buffers: {given or 'nothing'} cannot be stacked",
            because="it takes two parameters or more, each once",
        )
    for parameter in parameters:
        _check(program, parameter)
    temporary = parameters[0].role is Role.WORKSPACE
    for parameter in parameters:
        alike = parameter.shape == parameters[0].shape and parameter.dtype is parameters[0].dtype
        if not alike or (parameter.role is Role.WORKSPACE) is not temporary:
            raise ScheduleError(
                f"concat_buffers: '{parameters[0].name}' and '{parameter.name}' are not of one shape and dtype",
                because=f"the one is {_text(parameters[0])}, the other {_text(parameter)}",
                fix="stack those that are alike",
            )
    check_free(program, name, "concat_buffers")
    first = parameters[0]
    role = Role.WORKSPACE if temporary else Role.BOUND
    table = Buffer(name, first.dtype, (Const(len(parameters)), *first.shape), role, (None, *first.dims))
    rewriter = _ConcatBuffers(new=table, places={parameter: k for k, parameter in enumerate(parameters)})
    stages = tuple(
        stage if stage.kind is StageKind.BIND else replace(stage, body=rewriter.stmt(stage.body))
        for stage in program.stages
    )
    if temporary:
        kept = tuple(buffer for buffer in program.buffers if buffer not in parameters)
        return rewriter.finish(program, replace(program, buffers=(*kept, table), stages=stages))
    new = replace(program, buffers=(*program.buffers, table), stages=stages)
    for place, parameter in enumerate(parameters):
        new = appended(new, StageKind.BIND, _filled(parameter, table, place))
    return rewriter.finish(program, new)


def _check(program: Program, buffer: Buffer) -> None:
    check_known(program, buffer, "concat_buffers")
    check_alone(program, buffer, "concat_buffers")
    if buffer.role is not Role.WORKSPACE:
        table_shape(buffer, "concat_buffers")


def _text(buffer: Buffer) -> str:
    role = "workspace " if buffer.role is Role.WORKSPACE else ""
    return f"{role}{buffer.dtype.value}[{', '.join(map(expr_text, buffer.shape))}]"


def _filled(parameter: Buffer, table: Buffer, place: int) -> Stmt:
    """Return the nest that copies one parameter."""
    loops = [Var(f"{parameter.name}_{dimension}") for dimension in range(len(parameter.shape))]
    indices = tuple(map(Ref, loops))
    label = Label(f"{table.name}.{parameter.name}")
    nest: Stmt = Store(label, table, (Const(place), *indices), Load(parameter, indices))
    for var, extent in zip(reversed(loops), reversed(parameter.shape), strict=True):
        nest = For(var, extent, nest)
    return nest


@dataclass
class _ConcatBuffers(Rewriter):
    new: Buffer = field(kw_only=True)
    places: dict[Buffer, int] = field(kw_only=True)

    def access(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
        own, inner = super().access(buffer, indices)
        place = self.places.get(buffer)
        return (own, inner) if place is None else (self.new, (Const(place), *inner))
