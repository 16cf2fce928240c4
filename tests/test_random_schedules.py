"""Random schedules of random models: what is accepted agrees with the oracle, what is refused changes nothing.

`make fuzz` draws thousands of these examples.
"""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase

from tests.support.random_runs import check_run, runs
from tests.support.tally import Tally

EXAMPLES = 60
TALLY = Tally()


@pytest.mark.timeout(900)
@hypothesis.settings(
    max_examples=EXAMPLES, phases=(Phase.generate, Phase.shrink), suppress_health_check=list(HealthCheck)
)
@hypothesis.given(runs(TALLY))
def test_every_schedule_means_what_the_oracle_says(run):
    check_run(run, compiled=5)
