"""Every primitive in every operator's program: legal, and then the same bits are computed, or refused, and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ragged.ops.operators import CALLS
from tests.ragged.ops.table import BEGIN, END, table
from tests.ragged.ops.trials import trials_of
from tests.support.pages import check_part

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "ragged_primitives.md"


@pytest.mark.parametrize("operator", CALLS)
def test_primitives_in_an_operator(operator, golden):
    texts = [trial.text for trial in trials_of(operator)]
    golden(f"{operator.replace(' ', '_')}.txt", "\n".join(texts) + "\n")


def test_the_page_has_the_table(request):
    wanted = f"\n{table({name: trials_of(name) for name in CALLS})}\n"
    check_part(PAGE, BEGIN, END, wanted, renew=request.config.getoption("--renew-golden"))
