"""The native linearizer gives what its reference gives, bit for bit, and refuses what it refuses."""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex.ilir.plan import Plan
from cortex.linearize import Vocab
from tests.linearize import strategies
from tests.linearize.support import check_against_reference

VOCAB = Vocab(strategies.WORDS)
STRICT = Vocab(strategies.WORDS, unk=None)


@pytest.mark.parametrize(
    "kind",
    [
        strategies.objects,
        strategies.tuples,
        strategies.texts,
        strategies.sequences,
        strategies.forests,
        strategies.labelled,
        strategies.graphs,
    ],
)
@given(data=st.data())
@hypothesis.settings(max_examples=200)
def test_one_structure(kind, data):
    plan: Plan = data.draw(strategies.plans())
    check_against_reference(plan, data.draw(kind(plan)), vocab=VOCAB)


@given(data=st.data())
@hypothesis.settings(max_examples=300)
def test_batches_of_every_kind(data):
    plan: Plan = data.draw(strategies.plans(strict=False))
    batch = data.draw(strategies.batches(plan))
    check_against_reference(plan, batch, vocab=data.draw(st.sampled_from([VOCAB, VOCAB, STRICT])))
