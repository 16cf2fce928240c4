"""Round the products of a sum once: an accumulation of products becomes fused multiply-adds."""

from __future__ import annotations

from ragged.ir.expr import Binary, Fma, Load
from ragged.ir.ops import BinaryOp, Combiner
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.stmt import Reduce, Stmt, Store


def fuse_multiply_add(program: Program) -> Rewritten:
    """Return the program with every sum of floating-point products accumulated by fused multiply-adds.

    before::

        for j in serial(256):
            t[i] += U[i, j] * h[j]

    after::

        for j in serial(256):
            t[i] = fma(U[i, j], h[j], t[i])

    It says how sums round, so it is the same for every schedule of a program: results do not depend on tiles. Comes
    after all that knows of reductions, since what it leaves are stores.
    """
    return _FuseMultiplyAdd().program(program)


class _FuseMultiplyAdd(Rewriter):
    def stmt(self, stmt: Stmt) -> Stmt:
        match stmt:
            case Reduce(
                label=label,
                buffer=buffer,
                indices=indices,
                combiner=Combiner.SUM,
                value=Binary(op=BinaryOp.MUL | BinaryOp.DOT, lhs=lhs, rhs=rhs, at=at),
            ) if buffer.dtype.is_float:
                fused = Fma(lhs, rhs, Load(buffer, indices), at)
                return Store(label, buffer, indices, fused, stmt.at)
            case _:
                return super().stmt(stmt)
