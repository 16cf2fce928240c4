"""Put a check before every statement that may access what is not there, or divide by zero."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ragged.analysis.obligations import Division, IndexObligation, Limit, Obligation, element, obligations
from ragged.errors import Location
from ragged.ir.expr import Expr, Unary, Var
from ragged.ir.ops import UnaryOp
from ragged.ir.printer import expr_text
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.stmt import Alloc, Barrier, Block, Check, For, Label, Reduce, Stmt, Store, block
from ragged.ir.walk import expressions, loads


def insert_checks(program: Program) -> Rewritten:
    """Return the kernel with every access guarded that is not a loop's own variable under the same bound.

    So are divisions of integers by what may be zero.

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
    rewriter = _InsertChecks()
    return rewriter.program(program, kinds=(StageKind.KERNEL,))


def check_of(needed: Obligation, at: Location | None) -> Check:
    """Return the check that ends a program where an obligation is not met."""
    if isinstance(needed, Division):
        message = f"'{expr_text(needed.expr)}' divides by {{0}}"
        return Check(Label("divisor"), needed.condition, message, (needed.divisor,), at)
    if isinstance(needed, Limit):
        message = f"'{expr_text(needed.step)}' is {{0}}, and indices are below 2 ** 62"
        return Check(Label("limit"), needed.condition, message, (needed.result,), at)
    message, witness = _index_message(needed)
    return Check(Label(f"{needed.what}.bound{needed.position}"), needed.condition, message, witness, at)


def _index_message(needed: IndexObligation) -> tuple[str, tuple[Expr, ...]]:
    """Return the message of an index out of bounds and its witnesses, what it is read from named."""
    message = f"index {{0}} of dimension {needed.position} of '{needed.what}' is outside [0, {{1}})"
    witness, read = [needed.index, needed.extent], []
    for part in dict.fromkeys(loads(needed.index)):
        first = len(witness)
        witness += (*part.indices, part)
        places = ", ".join(f"{{{first + number}}}" for number in range(len(part.indices)))
        read.append(f"'{part.buffer.name}'[{places}] is {{{len(witness) - 1}}}")
    return ": ".join([message, *([", ".join(read)] if read else [])]), tuple(witness)


@dataclass
class _InsertChecks(Rewriter):
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
        for needed in self.obligations(stmt):
            is_plain = isinstance(needed, IndexObligation) and needed.is_plain(self.extents)
            if is_plain or needed.condition in seen:
                continue
            seen.add(needed.condition)
            yield check_of(needed, stmt.at)

    def obligations(self, stmt: Stmt) -> Iterator[Obligation]:
        if isinstance(stmt, Check):
            yield from obligations(stmt.condition)
            for expr in stmt.witness:
                yield from obligations(expr, Unary(UnaryOp.NOT, stmt.condition))
            return
        for expr in expressions(stmt):
            yield from obligations(expr)
        if isinstance(stmt, Store | Reduce):
            yield from element(stmt.buffer.name, stmt.indices, stmt.buffer.shape, None)
