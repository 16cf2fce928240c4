"""Checks of names and types: from the syntax tree to statements in single-assignment form.

Each statement reads the versions of tensors that the statements before it wrote, and writes a version of its own: the
right side is read in full before the left side is written. A call of another function is inlined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragged.ir import expr as ir
from ragged.ir.ops import Combiner
from ragged.ir.walk import subexpressions
from ragged.tc import tree as tc
from ragged.tc.calls import bind_arguments, fits
from ragged.tc.checked import CheckedFunction, CheckedStatement, IndexRange, SizeCheck, TensorVersion
from ragged.tc.declare import check_free, check_names, declare, declare_sizes, extent_of_dim, refuse_recursion
from ragged.tc.errors import refuse
from ragged.tc.reads import lengths_of, reads_of
from ragged.tc.scope import TcScope
from ragged.tc.text import expression_text
from ragged.tc.types import BOOL, FLOAT, canonical, is_float, join, narrows

_COMBINERS = {"+": Combiner.SUM, "*": Combiner.PROD, "min": Combiner.MIN, "max": Combiner.MAX}
_MOST_STATEMENTS = 500
"""The most statements of a function, those of called ones among them."""


def check(definition: tc.Definition, library: Mapping[str, tc.Definition]) -> CheckedFunction:
    """Return a definition with its names and types checked; `library` are the definitions that it may call.

    Raises:
        TcError: a rule of names or types is broken.
    """
    function = CheckedFunction(definition)
    refuse_recursion(definition)
    check_names(definition)
    if not definition.outputs:
        raise refuse(
            f"'{definition.name}' has no outputs", definition.at, fix="-> (y), and statements that write it"
        )
    scope = TcScope({}, {}, lengths=function.lengths)
    lengths = lengths_of(definition)
    declare_sizes(function, scope, definition.parameters)
    for declared in definition.parameters:
        declare(function, scope, declared, lengths)
    body = _StatementChecks(function, definition, library, scope)
    body.statements()
    function.outputs = {each.name: body.output(each) for each in definition.outputs}
    return function


@dataclass
class _StatementChecks:
    """Checks the statements of `definition`, the function's own or one that it calls, and adds them to `function`."""

    function: CheckedFunction
    definition: tc.Definition
    library: Mapping[str, tc.Definition]
    scope: TcScope
    depth: int = 0

    def statements(self) -> None:
        for statement in self.definition.statements:
            if isinstance(statement, tc.CallStatement):
                self.call(statement.targets, statement.call)
            elif self._is_call(statement):
                assert isinstance(statement.value, tc.Access)
                self.call((statement.target,), statement.value)
            else:
                self.comprehension(statement)

    def _is_call(self, statement: tc.Comprehension) -> bool:
        value = statement.value
        plain = not statement.indices and not statement.clauses and statement.operator == "="
        return plain and isinstance(value, tc.Access) and value.name in self.library

    def output(self, declared: tc.Declaration) -> TensorVersion:
        """Return the last version of an output, which its declaration has to fit."""
        version = self.scope.tensors.get(declared.name)
        if version is None or version.given:
            raise refuse(f"the output '{declared.name}' is never written", declared.at)
        if declared.dims and len(declared.dims) != version.rank:
            raise refuse(
                f"the output '{declared.name}' is declared with {len(declared.dims)} dimensions and written with "
                f"{version.rank}",
                declared.at,
            )
        assert version.domain is None
        sizes = set(self.function.sizes)
        for position, dim in enumerate(declared.dims):
            var = ir.Var(f"{declared.name}.{position}")
            self.function.aliases[var] = version, position
            text = f"the extent of dimension {position} of '{declared.name}'"
            extent = extent_of_dim(self.function, self.scope, dim, {})
            self.function.size_checks.append(SizeCheck(ir.Ref(var), extent, text, declared.at))
        for name in self.function.sizes.keys() - sizes:
            raise refuse(
                f"'{name}' is an extent of the output '{declared.name}', and no size of a parameter",
                declared.at,
                fix=f"'{declared.name}' without extents: they follow from the ranges of what is written",
            )
        return version

    # --- statements ----------------------------------------------------------------------------------------

    def comprehension(self, source: tc.Comprehension) -> None:
        name, symbol = source.target.id, source.operator.rstrip("!").removesuffix("=")
        combiner, starts = _COMBINERS.get(symbol), source.operator.endswith("!")
        self._check_target(source)
        if len(self.function.statements) >= _MOST_STATEMENTS:
            name = self.function.definition.name
            what = f"'{name}' has more than {_MOST_STATEMENTS} statements, with those of the functions that it calls"
            raise refuse(what, source.at)
        scope = self._scope(source)
        previous = self._previous(source) if combiner is not None and not starts else None
        for index in source.indices:
            scope.index(index.id)
        value, type_ = scope.typed(source.value)
        witnesses = tuple(scope.witness(each) for each in source.clauses if isinstance(each, tc.ExistsClause))
        ranges = self._ranges(source, scope)
        bounds = (bound for own in ranges.values() for bound in (own.lower, own.upper))
        witnesses += tuple(
            self.function.length_reads(*(part for each in bounds for part in subexpressions(each)))
        )
        indices = tuple(scope.indices[each.id] for each in source.indices)
        reduced = tuple(var for var in scope.indices.values() if var not in indices)
        if reduced and combiner is None:
            raise refuse(
                f"'{reduced[0].name}' is an index of the right side alone, and '=' does not specify a reduction",
                source.at,
                fix=f"{name} +=! ..., or '{reduced[0].name}' among the indices of '{name}'",
            )
        if combiner is not None and type_ == BOOL:
            raise refuse(f"'{source.operator}' is of numbers, and its right side is a truth value", source.at)
        stored = self._stored_type(source, type_, previous)
        target = self.function.add(TensorVersion(name, stored, len(indices), source.at))
        if previous is None and combiner is not None and not starts:
            previous = self.function.initial[name] = self.function.add(
                TensorVersion(name, stored, len(indices), source.at, given=True)
            )
        earlier = self.scope.tensors.get(name) or previous
        self.scope.tensors[name] = target
        self.function.statements.append(
            CheckedStatement(
                source, target, previous, earlier, combiner, indices, reduced, value, witnesses, ranges
            )
        )

    def _check_target(self, source: tc.Comprehension) -> None:
        name = source.target.id
        check_free(name, source.at)
        seen: set[str] = set()
        for index in source.indices:
            if index.id in seen:
                raise refuse(
                    f"the index '{index.id}' is already defined: it stands twice on the left", index.at
                )
            seen.add(index.id)
        if name in self.scope.lengths or (name in self.scope.values and name not in self.scope.tensors):
            raise refuse(f"'{name}' is written, and is a size, a scalar parameter, or lengths", source.at)
        known = self.scope.tensors.get(name)
        if known is not None and known.given and name not in self._outputs():
            raise refuse(
                f"'{name}' is written, and is an input",
                source.at,
                "inputs are immutable",
                fix=f"another name, or '{name}' among the outputs as well",
            )
        if known is not None and known.rank != len(source.indices):
            raise refuse(
                f"'{name}' has {known.rank} dimensions and is written at {len(source.indices)} indices",
                source.at,
            )

    def _outputs(self) -> set[str]:
        return {each.name for each in self.definition.outputs}

    def _previous(self, source: tc.Comprehension) -> TensorVersion | None:
        """Return the version that a reduction without `!` starts from; None if a call gives it."""
        name = source.target.id
        known = self.scope.tensors.get(name)
        if known is None and (name not in self._outputs() or self.depth):
            raise refuse(
                f"'{source.operator}' starts from the values of '{name}', which has none",
                source.at,
                fix=f"'{source.operator}!' starts from the neutral element",
            )
        return known

    def _scope(self, source: tc.Comprehension) -> TcScope:
        """Return the scope of a statement; an output that is read before it is written is one that a call gives."""
        lets = {each.name: each for each in source.clauses if isinstance(each, tc.LetClause)}
        ranged = {each.index for each in source.clauses if isinstance(each, tc.RangeClause)}
        hidden = frozenset(ranged | {index.id for index in source.indices})
        for access in reads_of(source):
            name = access.name
            if name in self._outputs() and name not in self.scope.tensors and not self.depth:
                version = TensorVersion(
                    name, self._declared_type(name), len(access.arguments), access.at, given=True
                )
                self.function.initial[name] = self.scope.tensors[name] = self.function.add(version)
        return TcScope(self.scope.values, self.scope.tensors, lets, hidden, lengths=self.scope.lengths)

    def _declared(self, name: str) -> str | None:
        declared = next((each for each in self.definition.outputs if each.name == name), None)
        return None if declared is None or declared.type is None else canonical(declared.type)

    def _declared_type(self, name: str) -> str:
        return self._declared(name) or FLOAT

    def _stored_type(self, source: tc.Comprehension, type_: str, previous: TensorVersion | None) -> str:
        """Return the type of the version that a statement writes, which its value has to fit."""
        name = source.target.id
        declared = self._declared(name)
        given = self.function.initial.get(name) or self.function.parameters.get(name)
        if declared is None and given is not None and not self.depth:
            declared = given.type
        if declared is None:
            earlier = previous or self.scope.tensors.get(name)  # a part of which may stay
            return type_ if earlier is None else join(type_, earlier.type)
        constant = isinstance(source.value, tc.NumberLiteral) and is_float(type_) and is_float(declared)
        if narrows(type_, declared) and not constant and not fits(source.value, declared):
            raise refuse(
                f"'{name}' is declared as {declared}, and the right side is of type {type_}",
                source.at,
                "nothing is rounded or cut unasked",
                fix=f"{declared}({expression_text(source.value)})",
            )
        return declared

    def _ranges(self, source: tc.Comprehension, scope: TcScope) -> dict[ir.Var, IndexRange]:
        found: dict[ir.Var, IndexRange] = {}
        lengths = self.scope.lengths
        bounds = TcScope(self.scope.values, {}, indices=scope.indices, in_bound=True, lengths=lengths)
        for clause in source.clauses:
            if isinstance(clause, tc.RangeClause):
                var = scope.index(clause.index)
                if var in found:
                    raise refuse(f"the index '{clause.index}' has two ranges", clause.at)
                what = f"a bound of '{clause.index}'"
                found[var] = IndexRange(
                    bounds.integer(clause.lower, what), bounds.integer(clause.upper, what)
                )
        return found

    # --- calls ---------------------------------------------------------------------------------------------

    def call(self, targets: Sequence[tc.Name], call: tc.Access) -> None:
        """Inline a call: its statements over versions of their own, its parameters bound to the arguments.

        An output that it reads before it is written starts from the values of the call's target.
        """
        callee = self.library.get(call.name)
        if callee is None:
            raise refuse(f"'{call.name}' is called, and is no function before this one", call.at)
        for given, needed, what in (
            (targets, callee.outputs, "outputs"),
            (call.arguments, callee.parameters, "parameters"),
        ):
            if len(given) != len(needed):
                raise refuse(f"'{call.name}' has {len(needed)} {what}, and the call {len(given)}", call.at)
        check_names(callee)
        earlier = dict(list(self.library.items())[: list(self.library).index(call.name)])
        scope = bind_arguments(self.function, self.scope, callee, call)
        scope.tensors |= self._starting(targets, callee, earlier)
        body = _StatementChecks(self.function, callee, earlier, scope, self.depth + 1)
        body.statements()
        for target, declared in zip(targets, callee.outputs, strict=True):
            known = self.scope.tensors.get(target.id)
            if known is not None and known.given and target.id not in self._outputs():
                raise refuse(f"'{target.id}' is written, and is an input", target.at, "inputs are immutable")
            check_free(target.id, target.at)
            if target.id in self.scope.lengths:
                raise refuse(f"'{target.id}' is written, and is lengths", target.at)
            self.scope.tensors[target.id] = body.output(declared)

    def _starting(
        self, targets: Sequence[tc.Name], callee: tc.Definition, earlier: Mapping[str, tc.Definition]
    ) -> dict[str, TensorVersion]:
        """Return what outputs of a called function start from, of those that it reads before they are written."""
        own = self._outputs() if not self.depth else set()
        if not any(target.id in self.scope.tensors or target.id in own for target in targets):
            return {}
        found: dict[str, TensorVersion] = {}
        read_first = check(callee, earlier).initial
        for target, declared in zip(targets, callee.outputs, strict=True):
            first = read_first.get(declared.name)
            if first is None:
                continue
            if target.id in own and target.id not in self.scope.tensors:
                version = TensorVersion(
                    target.id, self._declared(target.id) or first.type, first.rank, target.at, given=True
                )
                self.function.initial[target.id] = self.scope.tensors[target.id] = self.function.add(version)
            if target.id in self.scope.tensors:
                found[declared.name] = self.scope.tensors[target.id]
        return found
