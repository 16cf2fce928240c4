"""The code that checks a fact over the arrays of a call: what a proof assumed is verified before the kernel runs."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from ragged.ir.expr import Binary, Call, Const, Expr, Function, Param, Ref, Var, add, sub, within
from ragged.ir.facts import Descends, Follows, Layered, Monotone, Owner, PrefixSum, Range, Tiling, Uniform
from ragged.ir.ops import BinaryOp
from ragged.ir.rewrite import substitute
from ragged.ir.stmt import Check, For, If, Label, Let, Stmt, block
from ragged.passes.domain_checks import KnownBounds, domain_conditions

Checked: TypeAlias = Range | Monotone | PrefixSum | Owner | Tiling | Follows | Layered | Descends | Uniform
"""The facts whose checks need no memory of their own; `ragged.passes.check_injective` has the other."""


_WORDS = {
    BinaryOp.EQ: "to be",
    BinaryOp.NE: "not to be",
    BinaryOp.LT: "to be below",
    BinaryOp.LE: "to be at most",
    BinaryOp.GT: "to be above",
    BinaryOp.GE: "to be at least",
}


def fact_check(fact: Checked) -> Stmt:
    """Return the statements that end the program where `fact` does not hold.

    Each reads only what is declared, whatever the data: a bad array is reported, never followed. Witnesses are
    the arguments at which it fails, then what was found there.
    """
    match fact:
        case Range():
            return _range(fact)
        case Monotone(function=function, strict=strict):
            op = BinaryOp.LT if strict else BinaryOp.LE
            return _each_pair(function, lambda here, there: Binary(op, here, there), "does not rise")
        case PrefixSum():
            return _prefix_sum(fact)
        case Owner():
            return _owner(fact)
        case Tiling():
            return _tiling(fact)
        case Follows():
            return _follows(fact)
        case Uniform():
            return _uniform(fact)
        case Layered():
            return _layered(fact)
        case Descends():
            return _descends(fact)
        case _:
            assert_never(fact)


def _check(function: Function, condition: Expr, message: str, *witness: Expr) -> Check:
    return Check(Label(f"{function.name}.fact"), condition, message, witness)


def _range(fact: Range) -> Stmt:
    function = fact.function
    own = {param.var: Var(param.var.name) for param in function.params}
    values: dict[Var, Expr] = {old: Ref(new) for old, new in own.items()}
    args = tuple(Ref(var) for var in own.values())
    lower, upper = substitute(fact.lower, values), substitute(fact.upper, values)
    call = Call(function, args)
    places = ", ".join(f"{{{i}}}" for i in range(len(args)))
    name = f"{function.name}({places})" if args else function.name
    found, low, high = (f"{{{len(args) + i}}}" for i in range(3))
    message = f"{name} = {found} is not in [{low}, {high})"
    known = KnownBounds()
    for param in function.params:
        known.add(within(Ref(own[param.var]), Const(0), substitute(param.extent, values)))
    holds = within(call, lower, upper)
    guards = [
        _check(function, condition, _outside(name, inner, len(args)), *args, *inner.args)
        for inner, condition in domain_conditions(holds, known)
    ]
    body: Stmt = block(*guards, _check(function, holds, message, *args, call, lower, upper))
    for param in reversed(function.params):
        body = For(own[param.var], substitute(param.extent, values), body)
    return body


def _outside(name: str, call: Call, first: int) -> str:
    """Return the message of a call outside of its function's domain; its arguments are witnesses from `first` on."""
    args = ", ".join(f"{{{first + i}}}" for i in range(len(call.args)))
    return f"{name} reads {call.function.name}({args}), which is outside of its domain"


def _each_pair(function: Function, holds: object, message: str) -> Stmt:
    """Return the loop that checks neighbours of a function of one parameter."""
    assert callable(holds)
    step = Var("i")
    here, there = Call(function, (Ref(step),)), Call(function, (add(Ref(step), 1),))
    text = f"{function.name} {message} at {{0}}: {{1}}, then {{2}}"
    check = _check(function, holds(here, there), text, Ref(step), here, there)
    return For(step, sub(_extent(function), 1), check)


def _prefix_sum(fact: PrefixSum) -> Stmt:
    """Return the checks that offsets start at zero and grow by lengths; a derived length only must not be negative."""
    offset, length, step = fact.offset, fact.length, Var("i")
    start = Call(offset, (Const(0),))
    here, there = Call(offset, (Ref(step),)), Call(offset, (add(Ref(step), 1),))
    grows = Call(length, (Ref(step),))
    holds = Binary(BinaryOp.LE, Const(0), grows)
    if length.body is None:
        holds = Binary(BinaryOp.AND, holds, Binary(BinaryOp.EQ, there, add(here, grows)))
    text = f"{offset.name} goes from {{1}} to {{2}} at {{0}}, where {length.name} is {{3}}"
    return block(
        _check(offset, Binary(BinaryOp.EQ, start, Const(0)), f"{offset.name}(0) = {{0}}, not 0", start),
        For(step, _extent(length), _check(offset, holds, text, Ref(step), here, there, grows)),
    )


def _owner(fact: Owner) -> Stmt:
    owner, offset, step = fact.owner, fact.offset, Var("f")
    row, rows = Call(owner, (Ref(step),)), sub(_extent(offset), 1)
    begin, end = Call(offset, (row,)), Call(offset, (add(row, 1),))
    there = f"{owner.name}({{0}}) = {{1}}"
    inside = _check(
        owner,
        within(row, Const(0), rows),
        f"{there} is not in [{{2}}, {{3}})",
        Ref(step),
        row,
        Const(0),
        rows,
    )
    holds = within(Ref(step), begin, end)
    text = f"{there}, whose places are in [{{2}}, {{3}})"
    return For(step, _extent(owner), block(inside, _check(owner, holds, text, Ref(step), row, begin, end)))


def _tiling(fact: Tiling) -> Stmt:
    begin, length, step = fact.begin, fact.length, Var("b")
    count = _extent(begin)
    zero = Const(0)
    first, tall = Call(begin, (zero,)), Call(length, (zero,))
    opens = Binary(BinaryOp.AND, _same(first, fact.first), _same(add(first, tall), fact.total))
    here, size = Call(begin, (Ref(step),)), Call(length, (Ref(step),))
    top = Call(begin, (sub(Ref(step), 1),))
    later = Binary(BinaryOp.OR, _same(Ref(step), zero), _same(add(here, size), top))
    holds = Binary(BinaryOp.AND, Binary(BinaryOp.LE, zero, size), later)
    end = Call(begin, (sub(count, 1),))
    some = Binary(BinaryOp.LE, Const(1), count)
    return block(
        _check(begin, some, f"{begin.name} has {{0}} values, and needs one", count),
        _check(
            begin,
            opens,
            f"{begin.name}(0) = {{0}} and {length.name}(0) = {{1}} do not end the numbering",
            first,
            tall,
        ),
        For(
            step,
            count,
            _check(begin, holds, f"{begin.name}({{0}}) = {{1}} does not go on the tiling", Ref(step), here),
        ),
        _check(begin, _same(end, zero), f"{begin.name} ends at {{0}}, not 0", end),
    )


def _follows(fact: Follows) -> Stmt:
    """Return the loops over batches and their nodes; nodes outside the pointer's domain have nothing to check."""
    batch, step, node = Var("b"), Var("i"), Var("n")
    here, size = Call(fact.begin, (Ref(batch),)), Call(fact.length, (Ref(batch),))
    end = add(here, size)
    body = _pointers(fact, Ref(node), end)
    bound = Let(node, add(here, Ref(step)), If(within(Ref(node), Const(0), _node_extent(fact)), body))
    return For(batch, _extent(fact.begin), For(step, size, bound))


def _node_extent(fact: Follows) -> Expr:
    return _extent(fact.pointer) if fact.via is None else sub(_extent(fact.via), 1)


def _pointers(fact: Follows, node: Expr, end: Expr) -> Stmt:
    if fact.via is None:
        return _later(fact, node, end)
    step, edge = Var("k"), Var("e")
    start, stop = Call(fact.via, (node,)), Call(fact.via, (add(node, 1),))
    inside = within(Ref(edge), Const(0), _extent(fact.pointer))
    body = Let(edge, add(start, Ref(step)), If(inside, _later(fact, Ref(edge), end)))
    return For(step, sub(stop, start), body)


def _later(fact: Follows, arg: Expr, end: Expr) -> Stmt:
    pointer, found = fact.pointer, Call(fact.pointer, (arg,))
    holds = Binary(BinaryOp.GE, found, end)
    if fact.optional:
        holds = Binary(BinaryOp.OR, Binary(BinaryOp.LT, found, Const(0)), holds)
    text = f"{pointer.name}({{0}}) = {{1}} is not in a batch before: those start at {{2}}"
    return _check(pointer, holds, text, arg, found, end)


def _uniform(fact: Uniform) -> Stmt:
    """Return the loops over ranges and their places; those outside the function's domain have nothing to check."""
    row, step, place = Var("p"), Var("i"), Var("n")
    param = fact.function.params[0]
    found, value = Call(fact.function, (Ref(place),)), substitute(fact.value, {param.var: Ref(place)})
    text = f"{fact.function.name}({{0}}) = {{1}} in a range where it has {_WORDS[fact.op]} {{2}}"
    check = _check(fact.function, Binary(fact.op, found, value), text, Ref(place), found, value)
    body = If(within(Ref(place), Const(0), param.extent), check)
    index = add(Call(fact.begin, (Ref(row),)), Ref(step))
    inner = For(step, Call(fact.length, (Ref(row),)), Let(place, index, body))
    return For(row, _extent(fact.begin), inner)


def _layered(fact: Layered) -> Stmt:
    """Return the loops over steps and their tops; places outside the domain of tops have nothing to check."""
    step, place, at, node = Var("s"), Var("i"), Var("t"), Var("n")
    start, stop = Call(fact.begin, (Ref(step),)), Call(fact.begin, (add(Ref(step), 1),))
    inside = within(Ref(node), Const(0), _common(fact.group, fact.height))
    text = f"{fact.top.name}({{0}}) = {{1}}"
    group, height = Call(fact.group, (Ref(node),)), Call(fact.height, (Ref(node),))
    low = _times(Ref(step), fact.layers)
    layer = within(height, add(low, 1), add(low, fact.layers + 1))
    checks = block(
        _check(fact.top, inside, f"{text} is no node", Ref(at), Ref(node)),
        _check(fact.top, _same(group, Ref(at)), f"{text} is of group {{2}}", Ref(at), Ref(node), group),
        _check(
            fact.top,
            layer,
            f"{text} has height {{2}}, not one of step {{3}}",
            Ref(at),
            Ref(node),
            height,
            Ref(step),
        ),
    )
    known = If(within(Ref(at), Const(0), _extent(fact.top)), Let(node, Call(fact.top, (Ref(at),)), checks))
    over = For(place, sub(stop, start), Let(at, add(start, Ref(place)), known))
    return For(step, sub(_extent(fact.begin), 1), over)


def _descends(fact: Descends) -> Stmt:
    """Return the loops over nodes and what they point to."""
    node, step, edge = Var("n"), Var("k"), Var("e")
    if fact.via is None:
        here = If(within(Ref(node), Const(0), _extent(fact.pointer)), _lower(fact, Ref(node), Ref(node)))
        return For(node, _common(fact.group, fact.height), here)
    start, stop = Call(fact.via, (Ref(node),)), Call(fact.via, (add(Ref(node), 1),))
    inside = within(Ref(edge), Const(0), _extent(fact.pointer))
    each = Let(edge, add(start, Ref(step)), If(inside, _lower(fact, Ref(node), Ref(edge))))
    count = Binary(BinaryOp.MIN, _common(fact.group, fact.height), sub(_extent(fact.via), 1))
    return For(node, count, For(step, sub(stop, start), each))


def _lower(fact: Descends, node: Expr, arg: Expr) -> Stmt:
    """Return the checks of one pointer, which is followed only where there is a node."""
    target = Var("m")
    found = within(Ref(target), Const(0), _common(fact.group, fact.height))
    there = Binary(BinaryOp.OR, Binary(BinaryOp.LT, Ref(target), Const(0)), found) if fact.optional else found
    above, below = Call(fact.height, (node,)), Call(fact.height, (Ref(target),))
    own = _same(Call(fact.group, (Ref(target),)), Call(fact.group, (node,)))
    layer = _times(Binary(BinaryOp.FLOORDIV, sub(above, 1), Const(fact.layers)), fact.layers)
    text = f"{fact.pointer.name}({{0}}) = {{1}}"
    checks = block(
        _check(
            fact.pointer,
            Binary(BinaryOp.LT, below, above),
            f"{text} is no lower than {{2}}",
            arg,
            Ref(target),
            node,
        ),
        _check(
            fact.pointer,
            Binary(BinaryOp.OR, own, Binary(BinaryOp.LE, below, layer)),
            f"{text} is in the step of {{2}}, and not below its top",
            arg,
            Ref(target),
            node,
        ),
    )
    missing = _check(fact.pointer, there, f"{text} is no node", arg, Ref(target))
    return Let(target, Call(fact.pointer, (arg,)), block(missing, If(found, checks)))


def _common(*functions: Function) -> Expr:
    """Return how many arguments all of these functions have."""
    first, *others = dict.fromkeys(map(_extent, functions))
    for other in others:
        first = Binary(BinaryOp.MIN, first, other)
    return first


def _times(value: Expr, factor: int) -> Expr:
    return Binary(BinaryOp.MUL, value, Const(factor))


def _same(lhs: Expr, rhs: Expr) -> Expr:
    return Binary(BinaryOp.EQ, lhs, rhs)


def _extent(function: Function) -> Expr:
    """Return the extent of a function of one parameter."""
    param: Param = function.params[0]
    return param.extent
