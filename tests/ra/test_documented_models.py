"""The models of the user documentation run as they stand."""

import numpy as np

from cortex import ra
from cortex.ilir.plan import Presence
from cortex.linearize import Node

RUNNING_EXAMPLE = """
N, H, V = ra.N, 256, 10_000
emb    = ra.input_tensor("emb", (V, H))
word   = ra.node_input("word", dtype="int32")
rnn_ph = ra.placeholder((N, H))
leaf   = ra.compute((N, H), lambda n, i: emb[word[n], i])
lh     = ra.compute((N, H), lambda n, i: rnn_ph[n.left, i])
rh     = ra.compute((N, H), lambda n, i: rnn_ph[n.right, i])
rec    = ra.compute((N, H), lambda n, i: ra.tanh(lh[n, i] + rh[n, i]))
body   = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, rec))
rnn    = ra.recursion_op(rnn_ph, body, structure=ra.Tree(max_children=2))
"""

CHILD_SUM = """
U, U_f = ra.input_tensor("U", (H, H)), ra.input_tensor("U_f", (H, H))
x    = ra.node_input("x", (H,))
h_ph, c_ph = ra.placeholder((N, H)), ra.placeholder((N, H))
hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i]))
u  = ra.compute((N, H), lambda n, i: ra.tanh(x[n, i] + ra.sum(H, lambda j: U[i, j] * hs[n, j])))
f  = ra.compute((N, ra.K, H), lambda n, k, i: ra.sigmoid(ra.sum(H, lambda j: U_f[i, j] * h_ph[k, j])))
c  = ra.compute((N, H), lambda n, i: u[n, i] + ra.sum_children(n, lambda k: f[n, k, i] * c_ph[k, i]))
h  = ra.compute((N, H), lambda n, i: ra.tanh(c[n, i]))
model = ra.recursion_op({"h": (h_ph, h), "c": (c_ph, c)}, structure=ra.Tree())
"""


def run(text, **names):
    scope = {"ra": ra, **names}
    exec(compile(text, "<design>", "exec"), scope)
    return scope


def test_the_running_example():
    model = run(RUNNING_EXAMPLE)["rnn"]
    plan = model.plan()
    assert (plan.min_children, plan.max_children, plan.positions) == (2, 2, (0, 1))
    assert [(p.name, p.required, p.range) for p in plan.payloads] == [("word", Presence.LEAVES, (0, 10_000))]
    table = model.init_params()["emb"].astype(np.float64)
    h = ra.evaluate(model, {"emb": table}, ((3, 5), 7))["h"]
    pair = np.tanh(table[3] + table[5])
    np.testing.assert_allclose(h, [table[3], table[5], pair, table[7], np.tanh(pair + table[7])])


def test_child_sum_cells():
    model = run(CHILD_SUM, N=ra.N, H=6)["model"]
    assert list(model.inputs) == ["U", "U_f"] and list(model.outputs) == ["h", "c"]
    params = model.init_params()
    U, U_f = params["U"].astype(np.float64), params["U_f"].astype(np.float64)
    x = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    root = Node([Node(x=x[0]), Node(x=x[1]), Node(x=x[2])], x=x[3])
    out = ra.evaluate(model, params, root)
    c = np.tanh(x[:3].astype(np.float64))
    h = np.tanh(c)
    forget = 1 / (1 + np.exp(-(h @ U_f.T)))
    last = np.tanh(x[3] + U @ h.sum(0)) + (forget * c).sum(0)
    np.testing.assert_allclose(out["c"], [*c, last])
    np.testing.assert_allclose(out["h"], [*h, np.tanh(last)])


def test_the_text_of_the_running_example(golden):
    golden("running_example.txt", repr(run(RUNNING_EXAMPLE)["rnn"]) + "\n")
