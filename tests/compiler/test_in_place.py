"""Calls read vectors where callers have them: the same bits as of copies, and nothing of it is left after a call."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
import pytest

import cortex
from cortex import Forest, Node, models, ra
from ragged.errors import DataError

H, E = 16, 12
RNG = np.random.default_rng(0)


def row(extent: int) -> np.ndarray:
    return RNG.standard_normal(extent, np.float32)


def vectors(count: int) -> list[Node]:
    """Return trees of vectors that are rows of one array, others in arrays of their own, and some that have none."""
    rows = RNG.standard_normal((count + 9, E), np.float32)
    made = []
    for k in range(count):
        leaves = [Node(x=rows[count - k]), Node(x=row(E)), Node(x=None)]
        made.append(Node([Node(leaves[:2], x=rows[k + 3]), leaves[2]]))
    return made


def lent(fn, data):
    """The names of the payloads that a call reads where they are."""
    linearized = fn._linearizer.borrow(data, fn._arguments.in_place)
    return {name for name, array in linearized.payloads.items() if array.base is not None and array.ndim == 1}


PAIRWISE = (("float32", "nodes", 1), ("float32", "roots", 2), ("bf16", "nodes", 2), ("bf16", "roots", 1))
"""Every two of these values together; `make thorough` has all three."""


@pytest.mark.parametrize(
    ("precision", "keep", "threads"),
    [
        pytest.param(*case, marks=() if case in PAIRWISE else pytest.mark.thorough)
        for case in product(("float32", "bf16"), ("nodes", "roots"), (1, 2))
    ],
)
def test_no_bit_depends_on_where_vectors_are(precision, keep, threads):
    model = models.tree_lstm(H, E, input="vector")
    fn = cortex.compile(model, model.init_params(seed=1), threads=threads, keep=keep, precision=precision)
    assert "begin_of_x" in fn.show("loops") and "s.apply(read_in_place, s.buffer('x')" in fn.show("schedule")
    for count in (1, 2, 7, 40):
        batch = vectors(count)
        wanted = fn(fn.linearize(batch))
        assert lent(fn, batch) == {"x"}
        for out in (fn(batch), *fn.stream([batch])):
            np.testing.assert_array_equal(out["h"], wanted["h"])
            assert out.keys(0) == wanted.keys(0)


def test_sequences_and_forests():
    model = models.lstm(H, E, input="vector")
    fn = cortex.compile(model, model.init_params(seed=2), threads=2)
    steps = RNG.standard_normal((30, E), np.float32)
    batch = [steps[:9], steps[4:], steps[:1], np.asfortranarray(steps)]
    for given in (batch, batch[:3], Forest([0, 0, 1], [0], x=steps[3:5])):
        assert lent(fn, given) == (set() if given is batch else {"x"})  # one in another order: all are copied
        np.testing.assert_array_equal(fn(given)["h"], fn(fn.linearize(given))["h"])


def gated() -> ra.Model:
    """Return a DAG network of nodes that carry a vector and a matrix."""
    N = ra.N
    x, m = ra.node_input("x", (H,), default=0.0), ra.node_input("m", (2, H), default=0.5)
    ph = ra.placeholder((N, H))
    total = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda c: ph[c, i]))
    h = ra.compute((N, H), lambda n, i: ra.tanh(total[n, i] * m[n, 0, i] + x[n, i] - m[n, 1, i]))
    return ra.recursion_op(ph, h, structure=ra.Dag())


def test_matrices_of_dags():
    model = gated()
    fn = cortex.compile(model, {}, threads=2)
    assert fn.show("schedule").count("s.apply(read_in_place") == 2
    below = Node(x=row(H), m=row(2 * H).reshape(2, H))
    root = Node([Node([below], x=row(H)), Node([below, below], m=np.ones((2, H), np.float32))])
    assert lent(fn, [root, below]) == {"x", "m"}
    np.testing.assert_array_equal(fn([root, below])["h"], fn(fn.linearize([root, below]))["h"])
    want = ra.evaluate(model, {}, root)["h"]
    np.testing.assert_allclose(fn([root]).nodes("h")[0], want, atol=1e-6)


def test_nothing_is_held_after_a_call():
    model = models.tree_lstm(H, E, input="vector")
    fn = cortex.compile(model, model.init_params(), threads=1)
    x = row(E)
    tree = Node([Node(x=x), Node(x=x)])
    before = sys.getrefcount(x)
    out = fn([tree])
    gc.collect()
    assert sys.getrefcount(x) == before and out["h"].shape == (1, H)


def test_vectors_may_change_after_the_call():
    model = models.tree_lstm(H, E, input="vector")
    fn = cortex.compile(model, model.init_params(), threads=2)
    x = row(E)
    tree = Node([Node(x=x), Node(x=x)])
    first, kept = fn([tree]), fn.linearize([tree])
    wanted = first["h"].copy()
    x[:] = 0
    np.testing.assert_array_equal(first["h"], wanted)
    np.testing.assert_array_equal(fn(kept)["h"], wanted)
    assert (fn([tree])["h"] != wanted).any()


class Own(np.ndarray):
    """An array of a class of its own."""


def test_arrays_of_files_and_of_other_classes(tmp_path):
    model = models.tree_lstm(H, E, input="vector")
    fn = cortex.compile(model, model.init_params(), threads=2)
    plain = RNG.standard_normal((4, E), np.float32)
    (tmp_path / "rows").write_bytes(plain.tobytes())
    fixed = plain.copy()
    fixed.flags.writeable = False
    mapped = np.memmap(tmp_path / "rows", np.float32, "r", shape=plain.shape)
    wanted = fn([Node([Node(x=each) for each in plain])])["h"]
    for rows in (mapped, plain.view(Own), fixed):
        batch = [Node([Node(x=each) for each in rows])]
        assert lent(fn, batch) == {"x"}
        np.testing.assert_array_equal(fn(batch)["h"], wanted)


def test_threads_call_at_once_on_vectors_of_their_own():
    model = models.tree_lstm(H, E, input="vector")
    fn = cortex.compile(model, model.init_params(), threads=2)
    batches = [vectors(count) for count in (3, 9, 20, 1)]
    wanted = [fn(batch)["h"] for batch in batches]
    with ThreadPoolExecutor(len(batches)) as pool:
        found = pool.map(lambda each: [fn(each)["h"] for _ in range(30)], batches)
        for each, own in zip(found, wanted, strict=True):
            for again in each:
                np.testing.assert_array_equal(again, own)


def test_what_profiles_time_reads_in_place_too():
    model = models.tree_lstm(H, E, input="vector")
    fn = cortex.compile(model, model.init_params(), threads=1)
    batch = vectors(6)
    assert lent(fn, batch) == {"x"}
    profile = fn.profile(batch, repeats=2)
    assert profile.structures == 6 and profile.kernel_us.median > 0
    assert len(fn.kernel_times(batch, 3)) == 3


def test_a_place_outside_of_the_memory_is_refused():
    model = models.tree_lstm(H, E, input="vector")
    fn = cortex.compile(model, model.init_params(), threads=1)
    batch = fn.linearize(vectors(3))
    batch.begin_of_x[4] += 1 << 33
    with pytest.raises(DataError, match=r"begin_of_x\(4\) = 8589934640 is not in \[0, 169\)"):
        fn(batch)


def test_a_gpu_has_copies():
    model = models.tree_lstm(H, E, input="vector")
    fn = cortex.compile(model, model.init_params(), target="cuda -arch=sm_90")
    assert "begin_of_x" not in fn.show("loops")


def test_saved_functions_read_in_place_too(tmp_path):
    model = models.tree_lstm(H, E, input="vector")
    fn = cortex.compile(model, model.init_params(), threads=1)
    fn.save(tmp_path / "f.cortex")
    loaded, batch = cortex.load(tmp_path / "f.cortex"), vectors(5)
    for each in (fn, loaded):
        linearized = each._linearizer.borrow(batch, each._arguments.in_place)
        assert linearized.payloads["x"].ndim == 1
    np.testing.assert_array_equal(loaded(batch)["h"], fn(batch)["h"])


OPTIMIZED = """\
import numpy as np, cortex
from cortex import Node, ra

x, ph = ra.node_input("x", (8,), default=0.0), ra.placeholder((ra.N, 8))
h = ra.compute((ra.N, 8), lambda n, i: ra.sum_children(n, lambda c: ph[c, i]) + x[n, i])
fn = cortex.compile(ra.recursion_op(ph, h), {}, threads=1)
batch = fn.linearize([Node(x=np.ones(8, np.float32))])
batch.begin_of_x[0] += 1 << 40
try:
    fn(batch)
except cortex.DataError as error:
    print(str(error).splitlines()[0])
"""


def test_rows_are_checked_where_python_leaves_assertions_out():
    command = [sys.executable, "-O", "-c", OPTIMIZED]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"CORTEX_CACHE_DIR": ""})
    assert "begin_of_x(0) = 1099511627776 is not in [0, 1)" in done.stdout, done.stderr


def test_a_batch_that_does_not_say_where_vectors_begin():
    model = models.tree_lstm(H, E, input="vector")
    fn = cortex.compile(model, model.init_params(), threads=1)
    batch = fn.linearize(vectors(2))
    with pytest.raises(DataError, match="`begin_of_x` of the linearized batch"):
        fn(batch.replace(begin_of_x=None))
