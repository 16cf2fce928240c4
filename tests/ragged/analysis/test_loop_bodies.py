"""What a loop's body may be divided at."""

import pytest

from ragged.analysis.loop_bodies import name_of
from ragged.errors import ScheduleError
from ragged.ir.stmt import Block


def test_a_statement_without_a_name_is_refused():
    with pytest.raises(ScheduleError) as refused:
        name_of(Block(()))
    assert str(refused.value).splitlines()[0].endswith("a Block has no name to divide a body at")
    assert refused.value.because == "fission divides a body at a loop or at a statement with a label"
