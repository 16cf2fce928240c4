"""Every primitive in every operator's program: legal, and then the same bits are computed, or refused, and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ragged.ops.operators import CALLS
from tests.ragged.ops.table import BEGIN, END, table
from tests.ragged.ops.trials import trials_of

PAGE = Path(__file__).resolve().parents[3] / "docs" / "ragged_primitives.md"


@pytest.mark.parametrize("operator", CALLS)
def test_primitives_in_an_operator(operator, golden):
    texts = [trial.text for trial in trials_of(operator)]
    golden(f"{operator.replace(' ', '_')}.txt", "\n".join(texts) + "\n")


def test_the_page_has_the_table(request):
    page = PAGE.read_text(encoding="utf-8")
    before, begin, rest = page.partition(BEGIN)
    now, end, after = rest.partition(END)
    assert begin and end, f"{PAGE.name} has no place for the table"
    wanted = f"\n{table({name: trials_of(name) for name in CALLS})}\n"
    if request.config.getoption("--renew-golden"):
        PAGE.write_text(before + BEGIN + wanted + END + after, encoding="utf-8")
    else:
        advice = "if the new one is right, run pytest with --renew-golden and review the difference"
        assert now == wanted, f"the table of {PAGE.name} is another one; {advice}"
