"""What users call their tensors does not clash with what the compiler makes of other names."""

from __future__ import annotations

import numpy as np
import pytest

import cortex
from cortex import Node, ra
from tests.support.agreement import check_agreement

N, H = ra.N, 16


@pytest.mark.parametrize("name", ["W_packed", "W_packed_first", "W_pairs", "num_nodes", "left", "node"])
@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_a_payload_called_as_what_is_made_of_a_parameter(name, precision):
    x, W, ph = ra.node_input(name, (H,)), ra.input_tensor("W", (H, H)), ra.placeholder((N, H))
    hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: ph[k, i]))
    h = ra.compute((N, H), lambda n, i: ra.tanh(x[n, i] + ra.sum(H, lambda j: W[i, j] * hs[n, j])))
    model = ra.recursion_op(ph, h)
    params = model.init_params(seed=0)
    values = np.random.default_rng(1).standard_normal((3, H)).astype(np.float32)
    given = [Node([Node([], **{name: values[0]}), Node([], **{name: values[1]})], **{name: values[2]})]
    fn = cortex.compile(model, params, precision=precision)
    check_agreement(
        [{"h": rows} for rows in fn(given).nodes("h")],
        ra.evaluate(model, params, given),
        "machine code",
        bound=1e-5 if precision == "float32" else 2e-2,
    )
