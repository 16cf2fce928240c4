"""run_passes: each step is recorded, and verified where a pass has changed any part of the program."""

from dataclasses import replace

import pytest

from ragged.errors import InternalError
from ragged.ir.parser import parse
from ragged.ir.program import StageKind
from ragged.ir.rewrite import Rewriter
from ragged.passes.pipeline import Pass, run_passes
from tests.ragged.passes.programs import TREE

PROGRAM = parse(TREE)
OTHER = parse(
    'program("p")\n\nm: input() = facts(0 <= m < 3)\nz: output(float32[1])\n\nwith kernel:\n    z[0] = 0.0\n'
)
(BODY,) = OTHER.stages


def giving(changed, notes=()):
    """Return a pass that gives another program."""

    def step(program):
        return replace(Rewriter().finish(program, changed), notes=notes)

    return Pass(step, "to test")


@pytest.mark.parametrize(
    "changed",
    [
        replace(PROGRAM, functions=PROGRAM.functions[1:]),
        replace(PROGRAM, buffers=PROGRAM.buffers[1:]),
        replace(PROGRAM, facts=(*PROGRAM.facts, *OTHER.facts)),
        replace(PROGRAM, stages=(BODY,)),
        replace(PROGRAM, stages=(*PROGRAM.stages, BODY)),
        replace(PROGRAM, stages=tuple(replace(each, kind=StageKind.PRELUDE) for each in PROGRAM.stages)),
    ],
    ids=["functions", "buffers", "facts", "body", "another stage", "kind of stage"],
)
def test_every_part_that_a_pass_changes_is_verified(changed):
    with pytest.raises(InternalError, match="pass 'step' left an invalid program"):
        run_passes(PROGRAM, [giving(changed)])


def test_the_program_that_is_given_comes_first_and_each_step_has_the_notes_of_its_pass():
    lowered, first, second = run_passes(PROGRAM, [giving(PROGRAM, ("a note",)), giving(OTHER)])
    assert [each.program for each in (lowered, first, second)] == [PROGRAM, PROGRAM, OTHER]
    assert [each.notes for each in (lowered, first, second)] == [(), ("a note",), ()]


def test_the_program_that_is_given_is_verified_too():
    with pytest.raises(InternalError) as caught:
        run_passes(replace(PROGRAM, buffers=PROGRAM.buffers[1:]), [])
    assert "pass" not in str(caught.value)
