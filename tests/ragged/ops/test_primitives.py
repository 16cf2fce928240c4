"""Every primitive in every operator's program: legal, and then the same bits are computed, or refused, and why."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.ragged.ops.operators import CALLS
from tests.ragged.ops.table import BEGIN, END, table
from tests.ragged.ops.trials import trials_of
from tests.support.pages import check_part

GOLDEN = Path(__file__).parent / "golden"
NEXT = r"\n(?=\S)"
"""Where the text of the next trial begins."""
PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "ragged_primitives.md"


def _file(operator: str) -> str:
    return f"{operator.replace(' ', '_')}.txt"


@pytest.mark.parametrize("operator", CALLS)
def test_primitives_in_an_operator(operator, golden):
    golden(_file(operator), "\n".join(trial.text for trial in trials_of(operator)) + "\n")


def test_the_page_has_the_table(request):
    """The table is of what the golden files say: renew these first."""
    texts = {name: (GOLDEN / _file(name)).read_text(encoding="utf-8") for name in CALLS}
    wanted = f"\n{table({name: re.split(NEXT, text) for name, text in texts.items()})}\n"
    check_part(PAGE, BEGIN, END, wanted, renew=request.config.getoption("--renew-golden"))
