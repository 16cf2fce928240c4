"""Sums of products with a parameter: what `pair_products` wants to know of one, and refuses."""

from __future__ import annotations

from dataclasses import dataclass

from ragged.analysis.dependence import storage
from ragged.errors import ScheduleError
from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Buffer, Const, Expr, Load, Ref, Role
from ragged.ir.ops import BinaryOp, Combiner
from ragged.ir.program import StageKind
from ragged.ir.sites import Branch, Site
from ragged.ir.stmt import Block, For, Label, Reduce, Stmt, Store
from ragged.ir.walk import loads, mentions, written


@dataclass(frozen=True, slots=True)
class ColumnLoop:
    """A loop over a dimension of a parameter, and over a dimension `place` of what a sum adds to."""

    loop: For
    dimension: int
    place: int


@dataclass(frozen=True, slots=True)
class ParameterSum:
    """A sum of products: the loop that it sums over, those around it over what it adds to, and its factors.

    `along` is the dimension of the parameter that the sum goes along, from `first` on; `lhs` says whether the parameter
    is the left factor.
    """

    site: Site
    update: Reduce
    axis: For
    outputs: tuple[For, ...]
    weight: Load
    along: int
    first: int
    other: Expr
    lhs: bool

    @property
    def extent(self) -> int:
        """How many products are summed up."""
        assert isinstance(self.axis.extent, Const)
        return int(self.axis.extent.value)

    def half(self, multiple: int = 1) -> Const:
        """How many pairs they are, up to a multiple; the last ones of a product and zero, or of zeros, if need be."""
        return Const(-(-self.extent // (2 * multiple)) * multiple)

    def columns(self) -> ColumnLoop | None:
        """Return the innermost of `outputs`, if it goes over all of a dimension of the parameter and of a workspace.

        None also where it computes something else than the sum.
        """
        loop, target = self.outputs[-1], self.update.buffer
        index = Ref(loop.var)
        own = [d for d, each in enumerate(self.weight.indices) if each == index]
        places = [d for d, each in enumerate(self.update.indices) if each == index]
        if (
            len(own) != 1
            or len(places) != 1
            or target.role is not Role.WORKSPACE
            or mentions(self.other, (loop.var,))
        ):
            return None
        whole = loop.extent == self.weight.buffer.shape[own[0]] == target.shape[places[0]]
        match loop.body:
            case Block(body=(Store(value=Const()) as start, For(var=axis))) if axis is self.axis.var:
                is_start = (start.buffer, start.indices) == (target, self.update.indices)
                return ColumnLoop(loop, own[0], places[0]) if whole and is_start else None
            case _:
                return None

    @property
    def body(self) -> Stmt:
        """What the outermost of `outputs` stands in."""
        outer = self.site.around[: self.site.around.index(self.outputs[0])]
        if not outer:
            return self.site.stage.body
        around = outer[-1]
        if not isinstance(around, Branch):
            return around.body
        branch = around.branch
        return branch.then if around.taken or branch.orelse is None else branch.orelse

    @property
    def over(self) -> list[For]:
        """The loops that the other factor depends on, the sum's own among them, in the order of its indices."""
        found = [loop for loop in (*self.outputs, self.axis) if mentions(self.other, (loop.var,))]
        if isinstance(self.other, Load):
            indices = self.other.indices
            found.sort(
                key=lambda loop: next(d for d, index in enumerate(indices) if mentions(index, (loop.var,)))
            )
        return found


def sum_at(site: Site) -> ParameterSum:
    """Return the sum at a site, or raise `ScheduleError`."""
    update = site.stmt
    name = getattr(update, "label", Label("?")).name
    if (
        not isinstance(update, Reduce)
        or update.combiner is not Combiner.SUM
        or update.buffer.dtype is not DType.FLOAT32
        or not (isinstance(update.value, Binary) and update.value.op is BinaryOp.MUL)
        or site.stage.kind is not StageKind.KERNEL
    ):
        raise _refusal(name, "it is no sum of products of float32 in the kernel")
    axis = site.loops[-1] if site.loops else None
    if axis is None or update.axes != (axis.var,) or not isinstance(axis.extent, Const):
        raise _refusal(name, "it is not summed over the one loop right around it, a constant number of times")
    if axis.body is not update:
        raise _refusal(name, f"something else stands in the loop '{axis.var.name}'")
    outputs = _outputs(site, update)
    for lhs, (one, other) in ((True, _sides(update)), (False, _sides(update)[::-1])):
        if isinstance(one, Load) and one.buffer.role is Role.PARAMETER and len(one.indices) > 1:
            place = _along(one, axis)
            if place is not None and mentions(other, (axis.var,)):
                if reads(other) & {storage(buffer) for buffer in written(outputs[0])}:
                    raise _refusal(name, "it reads what it adds to")
                return ParameterSum(site, update, axis, outputs, one, *place, other, lhs)
    raise _refusal(
        name, "neither factor is an element of a matrix of parameters that it goes along a row or column of"
    )


def reads(expr: Expr) -> set[Buffer]:
    """Return the memory that an expression reads, by the buffers that own it."""
    return {storage(part.buffer) for part in loads(expr)}


def _sides(update: Reduce) -> tuple[Expr, Expr]:
    assert isinstance(update.value, Binary)
    return update.value.lhs, update.value.rhs


def _outputs(site: Site, update: Reduce) -> tuple[For, ...]:
    """Return the loops right around the sum's that index what it adds to, outermost first."""
    found: list[For] = []
    for outer in reversed(site.around[:-1]):
        if not (
            isinstance(outer, For) and isinstance(outer.extent, Const) and Ref(outer.var) in update.indices
        ):
            break
        found.insert(0, outer)
    loops = [loop.var for loop in found]
    mixed = any(mentions(index, loops) and not isinstance(index, Ref) for index in update.indices)
    if not found or mixed or update.buffer.role is Role.LOCAL:
        raise _refusal(
            update.label.name,
            f"'{update.buffer.name}' is not indexed by loops around it that are over it alone",
        )
    return tuple(found)


def _along(weight: Load, axis: For) -> tuple[int, int] | None:
    """Return the one dimension of a parameter that a loop goes along, element by element, and where it begins."""
    places = [place for place, index in enumerate(weight.indices) if mentions(index, (axis.var,))]
    if len(places) != 1:
        return None
    match weight.indices[places[0]]:
        case Ref():
            return places[0], 0
        case Binary(op=BinaryOp.ADD, lhs=Ref(var=var), rhs=Const(value=first)) if var is axis.var:
            return places[0], int(first)
        case _:
            return None


def _refusal(name: str, because: str) -> ScheduleError:
    return ScheduleError(
        f"pair_products: '{name}' cannot be summed in pairs", because=because, fix="leave it in float32"
    )
