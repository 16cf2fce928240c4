"""A function after the checks of names and types: statements over expressions of the IR, in single-assignment form."""

from __future__ import annotations

from dataclasses import dataclass, field

from ragged.ir import expr as ir
from ragged.ir.build import both
from ragged.ir.ops import BinaryOp, Combiner
from ragged.tc import tree as tc
from ragged.tc.errors import TextPosition
from ragged.tc.types import computed


@dataclass(frozen=True, slots=True)
class IndexRange:
    """`lower <= index < upper`, expressions of sizes."""

    lower: ir.Expr
    upper: ir.Expr


@dataclass(eq=False, slots=True)
class TensorVersion:
    """The values of a tensor between two writes; each statement writes a version of its own.

    `buffer` stands for it in expressions, which read it at indices from its lower bounds on. `domain` are the ranges of
    its dimensions, None until they are found. `given` says that a call gives its values.
    """

    name: str
    type: str
    rank: int
    at: TextPosition
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
    def at(self) -> TextPosition:
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
        for var, whole in zip(self.indices, self.target.domain or (), strict=True) if self.partial else ():
            own = self.ranges[var]
            if own.lower != whole.lower:
                found = both(found, ir.Binary(BinaryOp.LE, own.lower, ir.Ref(var)))
            if own.upper != whole.upper:
                found = both(found, ir.Binary(BinaryOp.LT, ir.Ref(var), own.upper))
        return found


@dataclass(frozen=True, slots=True)
class Equality:
    """Two extents that a call of another function needs to be equal."""

    one: ir.Expr
    other: ir.Expr
    text: str
    at: TextPosition


@dataclass(slots=True)
class CheckedFunction:
    """A definition with the names, types and versions of its tensors.

    `sizes` are the variables of its size names, `scalars` those of its integer scalar parameters, `parameters` its
    other parameters. `initial` are the outputs that are read before they are written and are no parameters: a call has
    to give them as `out=`. `aliases` are sizes of called functions that stand for the extent of a dimension of a
    version. `versions` maps buffers to versions.
    """

    definition: tc.Definition
    sizes: dict[str, ir.Var] = field(default_factory=dict)
    scalars: dict[str, ir.Var] = field(default_factory=dict)
    parameters: dict[str, TensorVersion] = field(default_factory=dict)
    initial: dict[str, TensorVersion] = field(default_factory=dict)
    outputs: dict[str, TensorVersion] = field(default_factory=dict)
    statements: list[CheckedStatement] = field(default_factory=list)
    equalities: list[Equality] = field(default_factory=list)
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

    def add(self, version: TensorVersion) -> TensorVersion:
        """Note a version, and return it."""
        self.versions[version.buffer] = version
        return version
