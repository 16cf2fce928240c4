"""Check, before the kernel runs, what the loops over classes of nodes rely on."""

from __future__ import annotations

from ragged.ir.pointer_facts import Uniform
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.passes.assume import assume


def check_classes(program: Program) -> Rewritten:
    """Return the program with a prelude that checks what the nodes of each class have in common.

    before::

        kind: payload(n < num_nodes) = facts(uniform(class_begin_2, class_length_2, kind(n) == 0))

        with kernel:
            for n in parallel(class_length_2(b), N):
                node = class_begin_2(b) + n
                Wh[node, i] += W[0, i, j] * hs[node, j]

    after::

        with prelude:
            for p in serial(num_batches):
                for i in serial(class_length_2(p)):
                    n = class_begin_2(p) + i
                    check(kind(n) == 0, ...)

    What such a loop leaves out, and the numbers that stand in it, hold because of these facts, whether a proof uses
    them or not. Comes after `discharge_checks`: what that checks is not checked again.
    """
    relied = [fact for fact in program.facts if isinstance(fact, Uniform)]
    return Rewriter().finish(program, assume(program, relied))
