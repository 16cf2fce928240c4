"""What a function means, element by element in Python: it shares the parser and the ranges with the compiler."""

import itertools
import math

import numpy as np

from ragged.api.schedule import RaggedSchedule
from ragged.arith.index_intervals import value_of
from ragged.ir.interpret import interpret
from ragged.tc import tree as tc
from ragged.tc.arguments import read_arguments
from ragged.tc.lower import lower

FUNCTIONS = {
    "exp": math.exp, "tanh": math.tanh, "sqrt": math.sqrt, "fabs": abs, "fmax": max, "fmin": min, "max": max,
    "min": min, "floor": math.floor, "sigmoid": lambda x: 1 / (1 + math.exp(-x)), "pow": math.pow, "log": math.log,
    "fma": lambda x, y, z: x * y + z,
}  # fmt: skip
COMBINE = {"+": lambda a, b: a + b, "*": lambda a, b: a * b, "min": min, "max": max}
NEUTRAL = {"+": 0, "*": 1, "min": math.inf, "max": -math.inf}
OPERATORS = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b, "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b, "%": lambda a, b: a % b,
}  # fmt: skip


class OutOfRange(Exception):
    """An index that is read from an array is outside of a tensor."""


def evaluate(function, *arrays):
    """Return the outputs of a `TcFunction` without calls, by name, in float64; each read is checked."""
    checked = function._analysed.function
    given, sizes = read_arguments(
        checked, dict(zip((p.name for p in checked.definition.parameters), arrays, strict=True))
    )
    names = {**checked.sizes, **checked.scalars}
    values = {name: sizes[var] for name, var in names.items()}
    tensors = {name: (array, (0,) * array.ndim) for name, array in given.items()}
    for statement in checked.statements:
        ranges = {
            var.name: range(value_of(own.lower, sizes), value_of(own.upper, sizes))
            for var, own in statement.ranges.items()
        }
        own = statement.source
        domain = [(value_of(d.lower, sizes), value_of(d.upper, sizes)) for d in statement.target.domain]
        result = np.full([high - low for low, high in domain], np.nan)
        if own.target.id in tensors and (
            statement.partial or (not own.operator.endswith("!") and own.operator != "=")
        ):
            result[...] = tensors[own.target.id][0]
        lower = tuple(low for low, _ in domain)
        left = [index.id for index in own.indices]
        reduced = [name for name in ranges if name not in left]
        symbol = own.operator.rstrip("!").removesuffix("=")
        lets = {each.name: each.value for each in own.clauses if isinstance(each, tc.LetClause)}
        for point in itertools.product(*(ranges[name] for name in left)):
            place = tuple(p - low for p, low in zip(point, lower, strict=True))
            total = NEUTRAL.get(symbol) if own.operator.endswith("!") else result[place]
            for inner in itertools.product(*(ranges[name] for name in reduced)):
                scope = {
                    **values,
                    **dict(zip(left, point, strict=True)),
                    **dict(zip(reduced, inner, strict=True)),
                }
                value = _value(own.value, scope, tensors, lets)
                total = COMBINE[symbol](total, value) if symbol else value
            result[place] = total
        tensors[own.target.id] = result, lower
    return {name: tensors[name][0] for name in checked.outputs}


def _value(node, scope, tensors, lets):
    match node:
        case tc.NumberLiteral(value=value):
            return value
        case tc.Name(id=name):
            if name in scope:
                return scope[name]
            return _value(lets[name], scope, tensors, lets) if name in lets else tensors[name][0][()].item()
        case tc.Access(name=name, arguments=arguments) if name in FUNCTIONS:
            return FUNCTIONS[name](*(_value(each, scope, tensors, lets) for each in arguments))
        case tc.Access(name=name, arguments=arguments):
            array, lower = tensors[name]
            place = tuple(
                _value(each, scope, tensors, lets) - low for each, low in zip(arguments, lower, strict=True)
            )
            if not all(0 <= p < extent for p, extent in zip(place, array.shape, strict=True)):
                raise OutOfRange(f"{name}{place}")
            return array[place].item()
        case tc.Conversion(operand=operand):
            return _value(operand, scope, tensors, lets)
        case tc.Prefix(op=op, operand=operand):
            value = _value(operand, scope, tensors, lets)
            return not value if op == "!" else -value
        case tc.Conditional(condition=condition, if_true=if_true, if_false=if_false):
            return _value(
                if_true if _value(condition, scope, tensors, lets) else if_false, scope, tensors, lets
            )
        case tc.Infix(op="&&", lhs=lhs, rhs=rhs):
            return _value(lhs, scope, tensors, lets) and _value(rhs, scope, tensors, lets)
        case tc.Infix(op="||", lhs=lhs, rhs=rhs):
            return _value(lhs, scope, tensors, lets) or _value(rhs, scope, tensors, lets)
        case tc.Infix(op=op, lhs=lhs, rhs=rhs):
            left, right = (_value(each, scope, tensors, lets) for each in (lhs, rhs))
            if op == "/":
                return left // right if isinstance(left, int) and isinstance(right, int) else left / right
            return OPERATORS[op](left, right)


def interpreted(function, *arrays):
    """Return the outputs of a `TcFunction` by name, by the interpreter of the IR on its naive program."""
    checked = function._analysed.function
    given, sizes = read_arguments(
        checked, dict(zip((p.name for p in checked.definition.parameters), arrays, strict=True))
    )
    lowered = lower(function._analysed, {})
    program = RaggedSchedule(*lowered.outputs, name=function.name).lower()
    known = {each.name for each in (*program.functions, *program.buffers)}
    numbers = {lowered.sizes[name]: sizes[var] for name, var in checked.sizes.items()}
    numbers |= {lowered.scalars[name]: sizes[var] for name, var in checked.scalars.items()}
    found = interpret(
        program,
        {name: value for name, value in numbers.items() if name in known},
        {own: given[name] for name, own in lowered.inputs.items() if own in known},
    )
    return {name: found[tensor.name] for name, tensor in zip(checked.outputs, lowered.outputs, strict=True)}
