"""Weights that are not numbers: refused where products with them are left out, taken as they are where none is."""

from __future__ import annotations

import numpy as np
import pytest

import cortex
from cortex import Node, models, ra
from tests.support.cells import child_sum

H = 4
MODEL = child_sum(H)
RANDOM = np.random.default_rng(0)


def leaf() -> Node:
    return Node((), x=RANDOM.standard_normal(H).astype(np.float32))


def batch() -> list[Node]:
    inner = Node((leaf(), leaf()), x=np.zeros(H, np.float32))
    return [Node((inner, leaf()), x=np.ones(H, np.float32)), leaf()]


def with_weight(value: float, name: str = "U") -> dict[str, np.ndarray]:
    params = MODEL.init_params(seed=2)
    params[name][1, 3] = value
    return params


@pytest.mark.parametrize(("value", "text"), [(np.inf, "inf"), (-np.inf, "-inf"), (np.nan, "nan")])
def test_what_is_not_finite_is_refused(value, text):
    with pytest.raises(cortex.ModelError) as caught:
        cortex.compile(MODEL, with_weight(value), threads=1)
    what, at, *rest = str(caught.value).splitlines()
    assert what == "parameter 'U' is not finite"
    assert at.startswith("  at test_finite.py:")
    assert rest == [
        "  because: products of it with what is zero, the state of no children or an absent input, are not computed",
        f"  example: U[1, 3] = {text}",
        "  fix: mend the weights, or compile an ra.Schedule without specialize_leaves and hoist_inputs",
    ]


def test_other_parameters_are_refused_as_well():
    fn = cortex.compile(MODEL, MODEL.init_params(), threads=1)
    data = batch()
    before = fn(data)["h"].copy()
    with pytest.raises(cortex.ModelError, match="parameter 'U' is not finite"):
        fn.with_params(with_weight(np.nan))
    np.testing.assert_array_equal(fn(data)["h"], before)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("batched", [True, False])
def test_a_schedule_that_leaves_nothing_out_takes_them_and_agrees_with_the_oracle(value, batched):
    schedule = ra.Schedule(MODEL)
    if batched:
        schedule.dynamic_batch()
    assert schedule.finite == frozenset()
    params, data = with_weight(value), batch()
    output = cortex.compile(schedule, params, threads=1)(data)
    expected = ra.evaluate(MODEL, params, data)
    assert not all(np.isfinite(rows["h"]).all() for rows in expected)
    for name in ("h", "c"):
        for mine, oracle in zip(output.nodes(name), expected, strict=True):
            np.testing.assert_allclose(mine, oracle[name], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_what_no_product_with_zero_is_left_out_of_may_be_anything(value):
    """The weights of a child's gate meet children alone; nothing of them is taken to be finite."""
    model = models.tree_lstm(H, 3, 5)
    params = model.init_params(seed=1)
    params["emb"][2, 1] = value
    params["b_u"][0] = value
    data = [((0, 1), 3), (1, (4, 0))]
    output = cortex.compile(model, params, threads=1)(data)
    for mine, oracle in zip(output.nodes("h"), ra.evaluate(model, params, data), strict=True):
        np.testing.assert_allclose(mine, oracle["h"], rtol=1e-5, atol=1e-5)
