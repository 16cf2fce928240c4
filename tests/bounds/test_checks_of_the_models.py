"""The bound checks of the paper's five models: all that there are before the pass, and none in a kernel after it."""

from __future__ import annotations

import pytest

from ragged.ir.program import StageKind
from tests.bounds.five import MODELS, checks_in, compiled


@pytest.mark.parametrize("name", MODELS)
def test_every_check_is_proven_and_none_is_left(name, golden):
    made = compiled(name)
    before = checks_in(made.checked.kernel)
    notes = next(step.notes for step in made.steps if step.name == "discharge_checks")
    assert len(before) > 8 and not [note for note in notes if note.startswith("kept")]
    text = ["before:", *(f"  {line}" for line in before), "after:", *(f"  {note}" for note in notes)]
    golden(f"{name}.txt", "\n".join(text) + "\n")
    for step in made.steps[3:]:
        assert checks_in(step.program.kernel) == [], step.name


@pytest.mark.parametrize("name", MODELS)
def test_show_says_the_same_and_what_facts_the_prelude_checks(name):
    made = compiled(name)
    notes = next(step.notes for step in made.steps if step.name == "discharge_checks")
    assert made.function.show("checks") == "\n".join(notes)
    prelude = made.program.stage(StageKind.PRELUDE)
    assert prelude is not None
    subjects = {line.partition(".fact")[0] for line in checks_in(prelude.body)}
    assert {name.partition(" of ")[2] for name in made.used} <= subjects
