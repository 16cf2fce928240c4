"""Writing a gradient as a definition: its names, the statements that compute values again, and its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count

from ragged.ir.expr import Buffer, Call, Cast, Const, Expr, Load, Ref, Role, Var
from ragged.ir.sites import evaluated
from ragged.ir.walk import subexpressions, variables
from ragged.tc import tree as tc
from ragged.tc.check import check
from ragged.tc.checked import (
    AXES,
    CheckedFunction,
    CheckedStatement,
    IndexRange,
    TensorVersion,
    ranges_at,
    varying_with,
)
from ragged.tc.errors import refuse
from ragged.tc.lower import stored
from ragged.tc.ranges import extent_of
from ragged.tc.size_text import NOWHERE, tree_of
from ragged.tc.types import computed

_TYPES = {"float32": "float", "float64": "double"}


@dataclass(frozen=True, slots=True)
class BufferStatement:
    """A statement over buffers: `target(indices) operator value`, with the range of each index."""

    target: Buffer
    indices: Sequence[Var]
    operator: str
    value: Expr
    ranges: Mapping[Var, IndexRange]


@dataclass
class DefinitionWriter:
    """Collects the tensors and the statements of a gradient, and writes its definition.

    `saved` are the outputs that calls give. `backward` are its own statements. `bodies` are right sides in place of
    those of the function's statements, and `before` what then comes before each; both by the statement.
    """

    function: CheckedFunction
    saved: Collection[str]
    backward: list[BufferStatement] = field(default_factory=list)
    before: dict[CheckedStatement, BufferStatement] = field(default_factory=dict)
    bodies: dict[CheckedStatement, Expr] = field(default_factory=dict)
    names: dict[Var | Buffer, str] = field(default_factory=dict)
    domains: dict[Buffer, tuple[IndexRange, ...]] = field(default_factory=dict)
    results: dict[str, Buffer] = field(default_factory=dict)
    cotangents: dict[Buffer, tc.Declaration] = field(default_factory=dict)

    def __post_init__(self) -> None:
        function = self.function
        self.taken = {*function.sizes, *function.scalars, *function.parameters, *function.outputs}
        self.taken |= {f"d_{name}" for name in (*function.parameters, *function.outputs)}
        self.given = {*function.sizes, *function.scalars, *function.parameters, *self.saved}
        for name, version in function.parameters.items():
            self.names[version.buffer] = name
            self.domains[version.buffer] = version.domain or ()

    def fresh(self, wanted: str) -> str:
        """Return a name that nothing has, and note it as used."""
        found = _unused(wanted, self.taken)
        self.taken.add(found)
        return found

    def tensor(self, name: str, type_: str, domain: tuple[IndexRange, ...]) -> Buffer:
        """Return a new tensor's buffer."""
        shape = tuple(Const(0) for _ in domain)
        buffer = Buffer(self.fresh(name), computed(type_), shape, Role.WORKSPACE)
        self.names[buffer], self.domains[buffer] = buffer.name, domain
        return buffer

    def cotangent(self, name: str, version: TensorVersion) -> Buffer:
        """Return the buffer of the parameter `d_NAME`, which is stored from 0 on."""
        domain = tuple(IndexRange(Const(0), extent_of(own)) for own in version.domain or ())
        buffer = self.tensor(f"d_{name}", version.type, domain)
        self.cotangents[buffer] = self._declared(self._rename(buffer, f"d_{name}"), version)
        return buffer

    def result(self, name: str, buffer: Buffer) -> None:
        """Note the gradient of a parameter: `d_NAME`, or `d_NAME_in` if an output has that name as well."""
        self._rename(buffer, f"d_{name}_in" if name in self.function.outputs else f"d_{name}")
        self.results[name] = buffer

    def _rename(self, buffer: Buffer, wanted: str) -> str:
        """Give a parameter or an output a name, with a number where another one has it; return it."""
        self.taken.discard(self.names.pop(buffer))
        name = self.names[buffer] = _unused(wanted, self.given | set(self.names.values()))
        self.taken.add(name)
        self.given.add(name)
        return name

    def _declared(self, name: str, version: TensorVersion) -> tc.Declaration:
        extents: list[Expr] = []
        for own in version.domain or ():
            if not _is_declared(own.upper, extents):
                raise refuse(
                    f"the gradient by '{version.name}' is not defined: the extent of dimension {len(extents)} varies",
                    version.at,
                    because="extents of a parameter are of sizes, and of lengths along the dimensions before it",
                    fix="sum it up to an output of such extents",
                )
            extents.append(extent_of(own.at(extents)))
        return tc.Declaration(
            name, _TYPES.get(version.type, version.type), tuple(map(tree_of, extents)), NOWHERE
        )

    # --- the definition ------------------------------------------------------------------------------------

    def definition(self, saved: Mapping[TensorVersion, str]) -> tc.Definition:
        """Return the definition; `saved` are the outputs that are parameters where they are read."""
        given = {
            version: name
            for version, name in saved.items()
            if all(own.lower == Const(0) for own in version.domain or ())
        }
        needed = self._needed(given)
        saved_names = {name: version for version, name in given.items() if version in needed}
        for name, version in saved_names.items():
            self.names[version.buffer], self.domains[version.buffer] = name, version.domain or ()
        lines = [*self._forward(needed - set(given)), *self.backward]
        definition = self._definition(lines, saved_names)
        types = {name: each.type for name, each in check(definition, {}).outputs.items()}
        for name, buffer in list(self.results.items()):
            version = self.function.parameters[name]
            type_ = types[self.names[buffer]]
            if type_ != version.type:
                lines.append(self._converted(name, buffer, type_, version))
        return self._definition(lines, saved_names)

    def _definition(
        self, lines: Sequence[BufferStatement], saved: Mapping[str, TensorVersion]
    ) -> tc.Definition:
        declared = self.function.definition
        parameters = (
            *declared.parameters,
            *(self._declared(name, version) for name, version in saved.items()),
            *self.cotangents.values(),
        )
        outputs = tuple(tc.Declaration(self.names[b], None, (), NOWHERE) for b in self.results.values())
        name = f"{declared.name}_gradient"
        return tc.Definition(name, parameters, outputs, tuple(map(self._statement, lines)), NOWHERE)

    def _converted(self, name: str, buffer: Buffer, type_: str, version: TensorVersion) -> BufferStatement:
        """Return the statement that rounds a gradient, which is of a type, to that of its parameter."""
        domain = version.domain or ()
        made = self.tensor(f"sum_{self.names[buffer]}", version.type, domain)
        self.names[made], self.names[buffer] = self.names[buffer], self.names[made]
        self.results[name] = made
        indices = tuple(Var(f"i{position}") for position in range(version.rank))
        summed = replace(buffer, dtype=computed(type_))
        self.names[summed], self.domains[summed] = self.names[buffer], domain
        value = Cast(stored(version.type), Load(summed, tuple(map(Ref, indices))))
        return BufferStatement(made, indices, "=", value, ranges_at(indices, domain))

    # --- what is computed again ----------------------------------------------------------------------------

    def _needed(self, given: Mapping[TensorVersion, str]) -> set[TensorVersion]:
        """Return the versions that the gradient's statements read, and those that these are computed from."""
        needed = {version for line in self.backward for version in self._read(line.value)}
        for statement in reversed(self.function.statements):
            if statement.target in needed and statement.target not in given:
                needed |= set(self._sources(statement))
        return needed

    def _read(self, value: Expr) -> Iterator[TensorVersion]:
        for part in subexpressions(value):
            version = self.function.versions.get(part.buffer) if isinstance(part, Load) else None
            if version is not None and not version.given:
                yield version

    def _sources(self, statement: CheckedStatement) -> Iterator[TensorVersion]:
        yield from self._read(self.bodies.get(statement, statement.value))
        if statement in self.before:
            yield from self._read(self.before[statement].value)
        start = _start(statement)
        if start is not None and not start.given:
            yield start

    def _forward(self, needed: set[TensorVersion]) -> Iterator[BufferStatement]:
        """Yield the statements that compute versions again.

        A version that begins with the values of another takes over its name, if nothing else reads that one.
        """
        statements = [each for each in self.function.statements if each.target in needed]
        reads = [version for line in self.backward for version in self._read(line.value)]
        reads += [version for each in statements for version in self._sources(each)]
        for statement in statements:
            target, start = statement.target, _start(statement)
            value = self.bodies.get(statement, statement.value)
            assert target.domain is not None, "all domains are known"
            self.domains[target.buffer] = target.domain
            alone = start is not None and start in needed and reads.count(start) == 1
            if start is not None and alone:
                self.names[target.buffer] = self.names[start.buffer]
            else:
                own = f"{target.name}_in" if target.name in self.function.parameters else target.name
                free = own in self.function.outputs and own not in self.names.values()
                self.names[target.buffer] = own if free else self.fresh(own)
            if statement in self.before:
                yield self.before[statement]
            if start is not None and not alone:
                at = tuple(map(Ref, statement.indices))
                ranges = ranges_at(statement.indices, target.domain)
                yield BufferStatement(target.buffer, statement.indices, "=", Load(start.buffer, at), ranges)
            ranges = {var: statement.ranges[var] for var in statement.all_indices}
            yield BufferStatement(target.buffer, statement.indices, statement.source.operator, value, ranges)

    # --- statements ----------------------------------------------------------------------------------------

    def _statement(self, line: BufferStatement) -> tc.Comprehension:
        names, used = dict(self.names), set(self.taken) | set(self.names.values())
        for var in line.ranges:
            names[var] = _unused(var.name, used)
            used.add(names[var])
        written = self._written(line)
        clauses = tuple(
            tc.RangeClause(names[var], tree_of(own.lower, names), tree_of(own.upper, names), NOWHERE)
            for var, own in line.ranges.items()
            if var in written
        )
        return tc.Comprehension(
            tc.Name(names[line.target], NOWHERE),
            tuple(tc.Name(names[var], NOWHERE) for var in line.indices),
            line.operator,
            tree_of(line.value, names),
            clauses,
            NOWHERE,
        )

    def _written(self, line: BufferStatement) -> set[Var]:
        """Return the indices that need a clause: those without a range else, and those with ranges that vary with such.

        Where an index has a clause, the range of another one is inferred for all its values.
        """
        stated = {var for var, own in line.ranges.items() if not self._is_inferred(line, var, own)}
        return varying_with(stated, line.ranges)

    def _is_inferred(self, line: BufferStatement, var: Var, own: IndexRange) -> bool:
        """Return whether an index has its range without a clause: it stands alone wherever it is, over all of it."""
        found = False
        for part, conditions in evaluated(line.value):
            for position, index in enumerate(part.indices if isinstance(part, Load) else ()):
                if var in variables(index):
                    assert isinstance(part, Load)
                    if index != Ref(var) or self.domains[part.buffer][position].at(part.indices) != own:
                        return False
                    found = found or not conditions
        return found


def _start(statement: CheckedStatement) -> TensorVersion | None:
    """Return the version that the target keeps values of, or starts from."""
    if statement.previous is not None:
        return statement.previous
    return statement.earlier if statement.partial else None


def _is_declared(extent: Expr, before: Sequence[Expr]) -> bool:
    """Return whether a declaration can state an extent after those `before`, which its lengths are named by."""
    parts = list(subexpressions(extent))
    named = {each: AXES[position] for position, each in enumerate(before)}  # the last of equal ones
    arguments = [each for part in parts if isinstance(part, Call) for each in part.args]
    along = [part for part in parts if isinstance(part, Ref) and part.var in AXES]
    return Counter(along) == Counter(arguments) and {each.var for each in along} <= {*named.values()}


def _unused(wanted: str, taken: Collection[str]) -> str:
    numbers = (f"{wanted}_{number}" for number in count(2))
    return next(each for each in chain([wanted], numbers) if each not in taken)
