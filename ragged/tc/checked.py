"""A function after the checks of names and types: statements over expressions of the IR, in single-assignment form."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ragged.errors import Location
from ragged.ir import expr as ir
from ragged.ir.build import both
from ragged.ir.ops import BinaryOp, Combiner
from ragged.ir.rewrite import substitute
from ragged.ir.walk import subexpressions, variables
from ragged.tc import tree as tc
from ragged.tc.types import computed

AXES = tuple(ir.Var(f"axis_{position}") for position in range(64))
"""What stands for the index along each dimension of a tensor in the ranges of the dimensions after it."""


@dataclass(frozen=True, slots=True)
class IndexRange:
    """`lower <= index < upper`: expressions of sizes, and of outer indices and lengths at them where they vary.

    In the domain of a tensor `AXES[p]` is the index along dimension p.
    """

    lower: ir.Expr
    upper: ir.Expr

    def at(self, indices: Iterable[ir.Expr]) -> IndexRange:
        """Return the range of a dimension at indices along those of its tensor."""
        if self.is_fixed():
            return self
        along = dict(zip(AXES, indices, strict=False))
        return IndexRange(substitute(self.lower, along), substitute(self.upper, along))

    def over(self, indices: Iterable[ir.Var]) -> IndexRange:
        """Return the range of an index as that of a dimension of the tensor that is written at `indices`."""
        along = dict(zip(indices, map(ir.Ref, AXES), strict=False))
        if not along.keys() & variables(self.lower, self.upper):
            return self
        return IndexRange(substitute(self.lower, along), substitute(self.upper, along))

    def is_fixed(self, indices: Collection[ir.Var] = ()) -> bool:
        """Return whether it is the same for all values of axes and of `indices`, and reads no lengths."""
        if {*AXES, *indices} & variables(self.lower, self.upper):
            return False
        parts = (part for bound in (self.lower, self.upper) for part in subexpressions(bound))
        return not any(isinstance(part, ir.Call) for part in parts)


def ranges_at(indices: Sequence[ir.Var], domain: Sequence[IndexRange]) -> dict[ir.Var, IndexRange]:
    """Return the ranges of indices along the dimensions of a tensor."""
    along = tuple(map(ir.Ref, indices))
    return {var: own.at(along) for var, own in zip(indices, domain, strict=True)}


def varying_with(indices: Collection[ir.Var], ranges: Mapping[ir.Var, IndexRange]) -> set[ir.Var]:
    """Return indices, those with ranges that vary with them, and so on."""
    found = {*indices}
    while more := {var for var, own in ranges.items() if found & variables(own.lower, own.upper)} - found:
        found |= more
    return found


def domain_over(indices: Sequence[ir.Var], ranges: Mapping[ir.Var, IndexRange]) -> tuple[IndexRange, ...]:
    """Return the ranges of the dimensions of a tensor that is written at indices with these ranges."""
    return tuple(ranges[var].over(indices) for var in indices)


@dataclass(eq=False, slots=True)
class TensorVersion:
    """The values of a tensor between two writes; each statement writes a version of its own.

    `buffer` stands for it in expressions, which read it at indices from its lower bounds on. `domain` are the ranges of
    its dimensions, None until they are found. `given` says that a call gives its values.
    """

    name: str
    type: str
    rank: int
    at: Location
    given: bool = False
    domain: tuple[IndexRange, ...] | None = None
    buffer: ir.Buffer = field(init=False, repr=False)

    def __post_init__(self) -> None:
        shape = tuple(ir.Const(0) for _ in range(self.rank))
        self.buffer = ir.Buffer(self.name, computed(self.type), shape, ir.Role.WORKSPACE)


@dataclass(eq=False, slots=True)
class CheckedStatement:
    """`target(indices) combined with value`, over `indices` and then `reduced`, each index with the range of `where`.

    `previous` is the version that the target starts from: of a reduction without `!`, or None. `earlier` is the version
    before, whatever the operator: what the ranges leave out keeps its values. `witnesses` are the accesses of `where
    exists`. `ranges` are completed when the others are found; `partial` says that they leave a part of the target out.
    """

    source: tc.Comprehension
    target: TensorVersion
    previous: TensorVersion | None
    earlier: TensorVersion | None
    combiner: Combiner | None
    indices: tuple[ir.Var, ...]
    reduced: tuple[ir.Var, ...]
    value: ir.Expr
    witnesses: tuple[ir.Load, ...]
    ranges: dict[ir.Var, IndexRange]
    partial: bool = False

    @property
    def at(self) -> Location:
        """Where the statement stands."""
        return self.source.at

    @property
    def all_indices(self) -> tuple[ir.Var, ...]:
        """The indices of the left side, then those of the reduction."""
        return (*self.indices, *self.reduced)

    @property
    def inside(self) -> ir.Expr | None:
        """The condition that the target's indices are in the ranges of the statement; None if they always are."""
        found: ir.Expr | None = None
        places = tuple(map(ir.Ref, self.indices))
        for var, domain in zip(self.indices, self.target.domain or (), strict=True) if self.partial else ():
            own, whole = self.ranges[var], domain.at(places)
            if own.lower != whole.lower:
                found = both(found, ir.Binary(BinaryOp.LE, own.lower, ir.Ref(var)))
            if own.upper != whole.upper:
                found = both(found, ir.Binary(BinaryOp.LT, ir.Ref(var), own.upper))
        return found


@dataclass(frozen=True, slots=True)
class LengthParameter:
    """A parameter of lengths: an array of integers that a call gives, which extents of other tensors are read from.

    `function` stands for it in expressions; `version` has its type and its domain.
    """

    function: ir.Function
    version: TensorVersion

    def load(self, call: ir.Call) -> ir.Load:
        """Return a read of it as a read of the version."""
        return ir.Load(self.version.buffer, call.args, call.at)


@dataclass(frozen=True, slots=True)
class SizeCheck:
    """What has to hold of sizes: `one` is equal to `other`, or by `op` at most or at least that."""

    one: ir.Expr
    other: ir.Expr
    text: str
    at: Location
    op: BinaryOp = BinaryOp.EQ


@dataclass(slots=True)
class CheckedFunction:
    """A definition with the names, types and versions of its tensors.

    `sizes` are the variables of its size names, `scalars` those of its integer scalar parameters, `lengths` its
    parameters that are lengths, `parameters` all others. `initial` are the outputs that are read before they are
    written and are no parameters: a call has to give them as `out=`. `aliases` are sizes of called functions that stand
    for the extent of a dimension of a version. `versions` maps buffers to versions.
    """

    definition: tc.Definition
    sizes: dict[str, ir.Var] = field(default_factory=dict)
    scalars: dict[str, ir.Var] = field(default_factory=dict)
    lengths: dict[str, LengthParameter] = field(default_factory=dict)
    parameters: dict[str, TensorVersion] = field(default_factory=dict)
    initial: dict[str, TensorVersion] = field(default_factory=dict)
    outputs: dict[str, TensorVersion] = field(default_factory=dict)
    statements: list[CheckedStatement] = field(default_factory=list)
    size_checks: list[SizeCheck] = field(default_factory=list)
    aliases: dict[ir.Var, tuple[TensorVersion, int]] = field(default_factory=dict)
    versions: dict[ir.Buffer, TensorVersion] = field(default_factory=dict)

    @property
    def values(self) -> dict[str, ir.Var]:
        """The variables of size names, then of integer scalars."""
        return {**self.sizes, **self.scalars}

    @property
    def name(self) -> str:
        """The function's name."""
        return self.definition.name

    @property
    def varies(self) -> bool:
        """Whether the extent of a dimension or of a reduction varies with an outer index."""
        domains = (own for version in self.versions.values() for own in version.domain or ())
        ranges = ((own, each.all_indices) for each in self.statements for own in each.ranges.values())
        return not all(own.is_fixed() for own in domains) or not all(
            own.is_fixed(indices) for own, indices in ranges
        )

    @property
    def is_ragged(self) -> bool:
        """Whether the extent of a dimension of a parameter or of an output varies."""
        versions = (*self.parameters.values(), *self.outputs.values())
        return not all(own.is_fixed() for version in versions for own in version.domain or ())

    def length_reads(self, *parts: ir.Expr) -> Iterator[ir.Load]:
        """Yield the reads of lengths among expressions, as reads of their versions."""
        known = {each.function: each for each in self.lengths.values()}
        for part in parts:
            if isinstance(part, ir.Call) and part.function in known:
                yield known[part.function].load(part)

    def add(self, version: TensorVersion) -> TensorVersion:
        """Note a version, and return it."""
        self.versions[version.buffer] = version
        return version
