"""From a recursive comprehension with sizes to a model of the Recursive API."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from cortex import ra
from cortex.ra.expr import as_float
from cortex.ra.tensor import Body, InputTensor, NodeInput
from cortex.tc.check import check_statements, reduced_indices
from cortex.tc.expressions import ModelTensors, StatementExpressions
from cortex.tc.ranges import extents_of
from cortex.tc.symbols import Symbols, Tensor, symbols_of
from ragged.errors import Location, ModelError
from ragged.tc import tree as tc
from ragged.tc.errors import TcError
from ragged.tc.reads import named_in

B = TypeVar("B", bound=Body)
_STRUCTURES: dict[str, Callable[[int | None], Any]] = {
    "tree": ra.Tree,
    "dag": ra.Dag,
    "sequence": lambda most: ra.Sequence(),
}


def model_of(definition: tc.Definition, sizes: Mapping[str, int]) -> ra.Model:
    """Return the model of a recursive definition.

    Raises:
        TcError: a rule of names, types ("check") or ranges ("range") is broken.
    """
    return _built(definition, symbols_of(definition, sizes))


@dataclass
class _Named:
    """A function with given names of parameters, which the Recursive API shows."""

    function: Callable[..., Any]
    names: Sequence[str]

    def __post_init__(self) -> None:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in self.names])

    def __call__(self, *values: Any) -> Any:
        return self.function(*values)


def _built(definition: tc.Definition, symbols: Symbols) -> ra.Model:
    structure, tensors = definition.structure, ModelTensors(symbols)
    assert structure is not None, "a recursive definition has a structure"
    statements = tuple(each for each in definition.statements if isinstance(each, tc.Comprehension))
    check_statements(symbols, statements)
    extents = extents_of(symbols, statements, [each.name for each in definition.outputs])
    for declared in definition.parameters:
        tensors.current[declared.name] = _given(symbols.tensors[declared.name])
    for declared in definition.outputs:
        dims = symbols.tensors[declared.name].known
        tensors.placeholders[declared.name] = ra.placeholder((ra.N, *dims), name=f"{declared.name}_ph")
    for statement, ranges in zip(statements, extents, strict=True):
        _Statement(tensors, statement, ranges).write()
    results = {}
    for name, placeholder in tensors.placeholders.items():
        body: Body = tensors.current[name]
        results[name] = (placeholder, body) if name in tensors.read_at_children else body
    try:
        return ra.recursion_op(results, structure=_STRUCTURES[structure.kind](structure.most))
    except ModelError as error:
        raise _located(error, structure.at) from error


def _given(tensor: Tensor) -> InputTensor | NodeInput:
    if tensor.node:
        return ra.node_input(tensor.name, tensor.known, tensor.type)
    return ra.input_tensor(tensor.name, tensor.known, tensor.type)


class _Statement:
    """Builds the compute of one statement."""

    def __init__(self, tensors: ModelTensors, source: tc.Comprehension, ranges: Mapping[str, int]) -> None:
        self.tensors, self.source, self.ranges, self.symbols = tensors, source, ranges, tensors.symbols
        self.expressions = StatementExpressions(tensors, source)
        self.children = self.expressions.children

    def write(self) -> None:
        source = self.source
        target = self.symbols.tensors[source.target.id]
        left = [index.id for index in source.indices]
        dims = tuple(self.ranges[name] for name in left[target.before :])
        shape = (ra.N, ra.K, *dims) if target.child else (ra.N, *dims)
        if not target.child and source.operator == "=" and self.chooses(source.value):
            body = self.choice(source.value, left, shape, source.target.id)
        else:
            body = self.compute(source.value, left, shape, source.target.id)
        self.tensors.current[source.target.id] = body

    def chooses(self, value: tc.TcExpression) -> bool:
        """Return whether a value is chosen by a condition on the structure, so that each branch is its own compute."""
        if not isinstance(value, tc.Conditional):
            return False
        return any(
            isinstance(each, tc.Access) and each.name in ("leaf", "num_children")
            for each in named_in(value.condition)
        )

    def choice(self, value: tc.TcExpression, left: list[str], shape: tuple[Any, ...], name: str) -> Body:
        if not self.chooses(value):
            return self.compute(value, left, shape, name)
        assert isinstance(value, tc.Conditional), "a choice is conditional"
        then = self.choice(value.if_true, left, shape, f"{name}_then")
        orelse = self.choice(value.if_false, left, shape, f"{name}_else")

        def chosen(*indices: Any) -> Any:
            scope = dict(zip(left, indices, strict=True))
            return self.expressions.expression(value.condition, scope), then, orelse

        return self.located(lambda: ra.if_then_else(shape, _Named(chosen, left), name=name))

    def compute(self, value: tc.TcExpression, left: list[str], shape: tuple[Any, ...], name: str) -> Body:
        def element(*indices: Any) -> Any:
            scope = dict(zip(left, indices, strict=True))
            found = self.reduction(reduced_indices(self.symbols, self.source), value, scope)
            if self.source.operator in ("+=", "max="):
                earlier = self.tensors.current[name][tuple(scope[index] for index in left)]
                found = earlier + found if self.source.operator == "+=" else ra.maximum(earlier, found)
            return as_float(found)

        return self.located(lambda: ra.compute(shape, _Named(element, left), name=name))

    def reduction(self, names: Sequence[str], value: tc.TcExpression, scope: dict[str, Any]) -> Any:
        if not names:
            return self.expressions.expression(value, scope)
        name, *rest = names
        inner = _Named(lambda index: self.reduction(rest, value, {**scope, name: index}), [name])
        is_sum = self.source.operator.startswith("+")
        if name in self.children:
            over = ra.sum_children if is_sum else ra.max_children
            return over(scope[self.symbols.node], inner)
        return (ra.sum if is_sum else ra.max)(self.ranges[name], inner)

    def located(self, build: Callable[[], B]) -> B:
        try:
            return build()
        except TcError:
            raise
        except ModelError as error:
            raise _located(error, self.source.at) from error


def _located(error: ModelError, at: Location) -> TcError:
    """Return an error of the Recursive API as one of the text; what it says to write is not in the text's language."""
    return TcError("check", error.what, at=at, because=error.because, example=error.example)
