"""Put a check before every statement whose accesses are not plainly inside what they access."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ragged.ir.expr import Binary, Call, Const, Expr, Load, Ref, Select, Unary, Var, both, within
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import Rewriter, Rewritten, substitute
from ragged.ir.stmt import Alloc, Barrier, Block, Check, For, Label, Reduce, Stmt, Store, block
from ragged.ir.walk import expressions, operands


@dataclass(frozen=True, slots=True)
class Access:
    """An obligation: where `path` holds, `index` lies in `[0, extent)` of dimension `position` of `what`."""

    what: str
    position: int
    index: Expr
    extent: Expr
    path: Expr | None

    @property
    def condition(self) -> Expr:
        """The obligation as one expression."""
        inside = within(self.index, Const(0), self.extent)
        if self.path is None:
            return inside
        return Binary(BinaryOp.OR, Unary(UnaryOp.NOT, self.path), inside)


def insert_bound_checks(program: Program) -> Rewritten:
    """Return the kernel with every access guarded that is not a loop's own variable under the same bound.

    before::

        for i in serial(256):
            h[node, i] = emb[word(node), i]

    after::

        for i in serial(256):
            check(0 <= node and node < num_nodes, ...)
            check(0 <= word(node) and word(node) < 10000, ...)
            h[node, i] = emb[word(node), i]

    Comes before `discharge_checks`, which takes out those that facts prove.
    """
    rewriter = _Insert()
    stages = tuple(
        replace(stage, body=rewriter.stmt(stage.body)) if stage.kind is StageKind.KERNEL else stage
        for stage in program.stages
    )
    return rewriter.finish(program, replace(program, stages=stages))


def accesses(expr: Expr, path: Expr | None = None) -> Iterator[Access]:
    """Yield the obligations of evaluating `expr` where `path` holds, innermost first."""
    for inner, way in evaluated(expr, path):
        if isinstance(inner, Load):
            yield from element(inner.buffer.name, inner.indices, inner.buffer.shape, way)
        elif isinstance(inner, Call):
            yield from _call(inner, way)


def evaluated(expr: Expr, path: Expr | None = None) -> Iterator[tuple[Expr, Expr | None]]:
    """Yield everything in `expr`, innermost first, with the condition under which it is evaluated."""
    match expr:
        case Select(condition=condition, if_true=if_true, if_false=if_false):
            yield from evaluated(condition, path)
            yield from evaluated(if_true, both(path, condition))
            yield from evaluated(if_false, both(path, Unary(UnaryOp.NOT, condition)))
        case Binary(op=BinaryOp.AND, lhs=lhs, rhs=rhs):
            yield from evaluated(lhs, path)
            yield from evaluated(rhs, both(path, lhs))
        case Binary(op=BinaryOp.OR, lhs=lhs, rhs=rhs):
            yield from evaluated(lhs, path)
            yield from evaluated(rhs, both(path, Unary(UnaryOp.NOT, lhs)))
        case _:
            for operand in operands(expr):
                yield from evaluated(operand, path)
    yield expr, path


def element(
    name: str, indices: tuple[Expr, ...], shape: tuple[Expr, ...], path: Expr | None
) -> Iterator[Access]:
    """Yield the obligations of accessing the element of `name` at `indices`."""
    for position, (index, extent) in enumerate(zip(indices, shape, strict=True)):
        yield Access(name, position, index, extent, path)


def _call(call: Call, path: Expr | None) -> Iterator[Access]:
    """Yield what keeps a call in its domain, and, for an expression, what its body accesses."""
    values = {param.var: arg for param, arg in zip(call.function.params, call.args, strict=True)}
    extents = tuple(substitute(param.extent, values) for param in call.function.params)
    yield from element(call.function.name, call.args, extents, path)
    if call.function.body is not None:
        yield from accesses(substitute(call.function.body, values), path)


@dataclass
class _Insert(Rewriter):
    extents: dict[Var, Expr] = field(default_factory=dict)

    def stmt(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, For):
            self.extents[stmt.var] = stmt.extent
        if isinstance(stmt, Block | Alloc | Barrier):
            return super().stmt(stmt)
        return block(*self.checks(stmt), super().stmt(stmt))

    def checks(self, stmt: Stmt) -> Iterator[Check]:
        """Yield the checks that `stmt` needs just before it, each once."""
        seen: set[Expr] = set()
        for access in self.obligations(stmt):
            if self.plain(access) or access.condition in seen:
                continue
            seen.add(access.condition)
            name = f"{access.what}.bound{access.position}"
            message = f"index {{0}} of dimension {access.position} of '{access.what}' is outside [0, {{1}})"
            yield Check(Label(name), access.condition, message, (access.index, access.extent), stmt.at)

    def obligations(self, stmt: Stmt) -> Iterator[Access]:
        if isinstance(stmt, Check):
            yield from accesses(stmt.condition)
            for expr in stmt.witness:
                yield from accesses(expr, Unary(UnaryOp.NOT, stmt.condition))
            return
        for expr in expressions(stmt):
            yield from accesses(expr)
        if isinstance(stmt, Store | Reduce):
            yield from element(stmt.buffer.name, stmt.indices, stmt.buffer.shape, None)

    def plain(self, access: Access) -> bool:
        """True if the index is a literal in range, or a loop's variable under a bound not over the extent."""
        match access.index, access.extent:
            case Const(value=value), Const(value=extent):
                return 0 <= value < extent
            case Ref(var=var), extent if var in self.extents:
                bound = self.extents[var]
                if isinstance(bound, Const) and isinstance(extent, Const):
                    return bound.value <= extent.value
                return bound == extent
            case _:
                return False
