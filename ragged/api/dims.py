"""Named dimensions, sizes and length functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from ragged.api.values import Symbol, Value, ValueLike, ValueSource, as_index, check_integers, lift
from ragged.arith.affine import affine
from ragged.compiled.sizes import Affine
from ragged.errors import Location, ModelError
from ragged.ir import expr as ir
from ragged.ir.walk import lookups, subexpressions, variables


@dataclass(frozen=True, slots=True, eq=False)
class RaggedDim(Symbol):
    """A named dimension; in the extent of an inner dimension it stands for the index along it."""

    name: str
    var: ir.Var = field(repr=False)
    dim: ir.Dim = field(repr=False)

    @property
    def value(self) -> Value:
        """The index along the dimension."""
        return Value(ir.Ref(self.var))


@dataclass(frozen=True, slots=True, eq=False)
class LengthFn(ValueSource):
    """A function of outer dimensions that is known at the call: the extent of an inner one (CoRa, section 4).

    Calling it with dimensions, or with indices along them, gives its value there, an integer. `extents` are those of
    `over`; without them, the extents in the first tensor that has the dimension.
    """

    name: str
    over: tuple[RaggedDim, ...]
    function: ir.Function = field(repr=False)
    extents: tuple[Value, ...] = ()

    def __call__(self, *args: ValueLike) -> Value:
        """Return the value at `args`, one for each dimension of `over`."""
        if len(args) != len(self.over):
            dims = ", ".join(dim.name for dim in self.over)
            raise ModelError(
                f"'{self.name}' is over ({dims}) and is given {len(args)} arguments", at=Location.capture()
            )
        values = [as_index(arg, f"an argument of '{self.name}'") for arg in args]
        sources = {key: source for value in values for key, source in value.sources.items()}
        call = ir.Call(self.function, tuple(value.expr for value in values), Location.capture())
        return Value(call, {**sources, self.function: self})


def dim(name: str) -> RaggedDim:
    """Declare a dimension.

    Example:
        >>> batch, length = dim("batch"), dim("len")
    """
    _check_name("dim", name)
    return RaggedDim(name, ir.Var(name), ir.Dim(name))


@dataclass(frozen=True, slots=True)
class SizeRange(ValueSource):
    """The values, low <= value <= high, that a size is expected to have; others are legal."""

    name: str
    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.low} .. {self.high}"


def size(name: str, low: int | None = None, high: int | None = None) -> Value:
    """Declare a number that is known at the call: an extent that depends on no other dimension.

    A call takes it from the shapes of arrays with that extent, or as an argument under its name. The range that it is
    expected in, `low` and `high` inclusive, guides the choice of schedules and restricts nothing: a call outside of it
    is legal. Two sizes of one name are one size.

    Example:
        >>> rows = size("B")
        >>> T = size("T", 1, 128)
    """
    _check_name("size", name)
    function = _size_function(name)
    call = ir.Call(function, (), Location.capture())
    if low is None and high is None:
        return Value(call)
    if type(low) is not int or type(high) is not int or not 0 <= low <= high < 2**60:
        raise ModelError(
            f"size '{name}': {low!r} .. {high!r} is no range of sizes",
            at=Location.capture(),
            because="it has a least and a largest value, integers from 0 to 2^60",
            fix=f'size("{name}", 1, 128)',
        )
    return Value(call, {function: SizeRange(name, low, high)})


@lru_cache(1 << 12)
def _size_function(name: str) -> ir.Function:
    return ir.Function(name, (), ir.Source.CALL)


def number(name: str) -> Value:
    """Declare an integer of either sign that a call gives by name; where it is an extent, calls give none below 0."""
    return Value(ir.Call(ir.Function(name, (), ir.Source.NUMBER), (), Location.capture()))


def length_fn(name: str, over: RaggedDim | tuple[RaggedDim, ...]) -> LengthFn:
    """Declare the lengths of an inner dimension for each index of outer ones, known at the call.

    They are read off the ragged arrays that have them as an extent, or given to the call under the name: an int32
    array with a length for each index of `over`, in row-major order.

    Example:
        >>> n = length_fn("n", over=batch)
    """
    _check_name("length_fn", name)
    dims = over if isinstance(over, tuple) else (over,)
    if not dims or not all(isinstance(each, RaggedDim) for each in dims):
        raise ModelError(
            f"length_fn '{name}': over={over!r} is no dimension",
            at=Location.capture(),
            fix='over=ragged.dim("batch")',
        )
    params = tuple(
        ir.Param(ir.Var(each.name), ir.Const(0)) for each in dims
    )  # their extents come with tensors
    return LengthFn(name, dims, ir.Function(name, params, ir.Source.INPUT))


def is_of_sizes(extent: ir.Expr) -> bool:
    """Return whether an extent is made of numbers and sizes alone, and so is the same in all places of a call."""
    return not variables(extent) and not any(lookups(extent))


def affine_sizes(extent: ir.Expr) -> Affine | None:
    """Return an extent as an affine expression of sizes; None if it is another expression."""
    form = affine(extent)
    terms = []
    for term, coefficient in form.terms.items():
        if not (isinstance(term, ir.Call) and term.function.is_size):
            return None
        terms.append((term.function.name, coefficient))
    return Affine(tuple(terms), form.constant)


def extent_of(value: ValueLike, what: str) -> Value:
    """Return an extent as a value: an integer that is not a negative literal.

    Raises:
        ModelError: it is none, it reads a tensor, or a number in it is no int64.
    """
    extent = as_index(lift(value), what)
    check_integers(what, extent.expr)
    read = next((part.buffer for part in subexpressions(extent.expr) if isinstance(part, ir.Load)), None)
    if read is not None:
        raise ModelError(
            f"{what}: an extent reads the tensor '{read.name}'",
            at=Location.capture(),
            because="storage and loops are sized before tensors are read",
            fix="use a length_fn: the call takes its values as an argument of that name",
        )
    if isinstance(extent.expr, ir.Const) and int(extent.expr.value) < 0:
        raise ModelError(f"{what}: {extent.text()} is no extent", at=Location.capture())
    return extent


def _check_name(what: str, name: object) -> None:
    if not isinstance(name, str) or not name.isidentifier():
        raise ModelError(
            f"{what}: {name!r} is no name",
            at=Location.capture(),
            because="names are what calls and listings know things by",
            fix=f'{what}("name")',
        )
