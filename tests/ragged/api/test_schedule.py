"""What a schedule decides and rewrites, and what it refuses: whole messages."""

import numpy as np
import pytest

import ragged
from ragged.api.schedule import RaggedSchedule
from ragged.api.signature import Policy
from ragged.errors import DataError, ModelError, ScheduleError
from ragged.ir.equal import difference
from ragged.transform.loops.declare_order import declare_order
from ragged.transform.loops.remap_iterations import remap_iterations
from ragged.transform.loops.split import Tail
from tests.ragged.api.running import Data, expected, run

LENGTHS = [3, 0, 5, 1, 8]


class Rows:
    """Operators over rows of different lengths, and data."""

    def __init__(self) -> None:
        self.b, self.t, self.w = ragged.dim("b"), ragged.dim("t"), ragged.dim("w")
        self.n = ragged.length_fn("n", over=self.b)
        dims = [(self.b, ragged.size("S")), (self.t, self.n(self.b)), (self.w, 4)]
        self.A = ragged.input_tensor("A", dims)
        self.side = ragged.input_tensor("side", dims[:1])
        self.X = ragged.compute("X", dims, lambda b, t, w: self.A[b, t, w] + 1.0)
        self.Y = ragged.compute("Y", dims, lambda b, t, w: self.X[b, t, w] * self.side[b])
        self.R = ragged.compute("R", dims[:1], lambda b: ragged.sum(self.n(b), lambda t: self.A[b, t, 0]))

    def data(self) -> Data:
        data = Data({"S": len(LENGTHS)}, {self.n: {(i,): k for i, k in enumerate(LENGTHS)}})
        rng = np.random.default_rng(0)
        for tensor in (self.A, self.side):
            data.inputs[tensor] = {
                i: float(np.float32(rng.standard_normal())) for i in data.oracle.space(tensor)
            }
        return data

    def check(self, s: RaggedSchedule) -> str:
        """Check that a schedule computes what it means; return its kernel."""
        data = self.data()
        want = expected(s, data)
        for compiled in (False, True):
            got = run(s, data, compiled=compiled)
            for name in want:
                np.testing.assert_allclose(got[name], want[name], rtol=1e-5, atol=1e-5)
        return str(s.lower()).partition("with kernel:\n")[2]


@pytest.fixture
def rows() -> Rows:
    return Rows()


def refusal(call, *args, **kwargs) -> str:
    """Return the message of a refusal, without the place in the code."""
    with pytest.raises(ScheduleError) as caught:
        call(*args, **kwargs)
    return "\n".join(line for line in str(caught.value).splitlines() if not line.startswith("  at "))


def test_the_text_of_the_design():
    batch, length, wide = ragged.dim("batch"), ragged.dim("len"), ragged.dim("wide")
    n = ragged.length_fn("n", over=batch)
    A = ragged.input_tensor("A", [(batch, ragged.size("B")), (length, n(batch)), (wide, 8)])
    B = ragged.compute("B", A.dims, lambda b, t, w: 2 * A[b, t, w])
    s = ragged.Schedule(B)
    s.pad_loop(B.loops[1], 2)
    s.pad_dimension(B.dims[1], 4)
    s.fuse_loops(B.loops[0], B.loops[1])
    x = ragged.array([np.random.default_rng(k).standard_normal((k, 8)).astype(np.float32) for k in (3, 0, 5)])
    y = ragged.compile(s, target="cpu")(A=x)
    for one, other in zip(x.rows(), y.rows(), strict=True):
        np.testing.assert_array_equal(other, 2 * one)


def test_rows_of_any_padding_are_fused_through_tables(rows: Rows):
    s = RaggedSchedule(rows.Y)
    s.pad_loop(rows.X.loops[1], 2)
    s.pad_dimension(rows.X.dims[1], 4)
    s.fuse_loops(rows.X.loops[0], rows.X.loops[1])
    s.fuse_loops(rows.Y.loops[0], rows.Y.loops[1])
    assert (
        rows.check(s)
        == """\
    for b_t in parallel(t_begin(S), t):
        b = t_begin_row(b_t)
        t = b_t - t_begin(b)
        for w in serial(4, w):
            X[rows_begin(b) + t, w] = (A[n_begin(b) + t, w] if 0 <= t and t < n(b) else 0.0) + 1.0
    for b_t in parallel(n_begin(S), t):
        b = n_begin_row(b_t)
        t = b_t - n_begin(b)
        for w in serial(4, w):
            Y[b_t, w] = X[rows_begin(b) + t, w] * side[b]
"""
    )


def test_the_prelude_has_the_tables_that_the_kernel_reads(rows: Rows):
    s = RaggedSchedule(rows.X)
    s.fuse_loops(rows.X.loops[0], rows.X.loops[1])
    (prelude,) = s.preludes()
    assert [buffer.name for buffer in prelude.buffers] == ["n_begin_table"]
    s = RaggedSchedule(rows.Y)
    s.compute_at(rows.X, rows.Y.loops[2])
    s.inline(rows.X)
    s.fuse_loops(rows.Y.loops[0], rows.Y.loops[1])
    tables = [buffer.name for prelude in s.preludes() for buffer in prelude.buffers]
    assert tables == ["n_begin_table", "n_begin_row_table"]


def test_bulk_padding(rows: Rows):
    s = RaggedSchedule(rows.Y)
    for tensor in (rows.X, rows.Y):
        s.fuse_dimensions(tensor.dims[0], tensor.dims[1], pad=8)
    for tensor in (rows.X, rows.Y):
        s.fuse_loops(tensor.loops[0], tensor.loops[1], pad=8)
    assert (
        rows.check(s)
        == """\
    for b_t in parallel((n_begin(S) + 7) // 8 * 8, t):
        for w in serial(4, w):
            X[b_t, w] = (A[b_t, w] if b_t < n_begin(S) else 0.0) + 1.0
    for b_t in parallel((n_begin(S) + 7) // 8 * 8, t):
        b = n_begin_row(min(b_t, n_begin(S) - 1))
        for w in serial(4, w):
            Y[b_t, w] = X[b_t, w] * side[b]
"""
    )


def test_what_is_not_written_reads_as_zero(rows: Rows):
    s = RaggedSchedule(rows.Y)
    for tensor in (rows.X, rows.Y):
        s.fuse_dimensions(tensor.dims[0], tensor.dims[1], pad=8)
    s.fuse_loops(rows.X.loops[0], rows.X.loops[1])
    s.fuse_loops(rows.Y.loops[0], rows.Y.loops[1], pad=8)
    assert "(X[b_t, w] if b_t < n_begin(S) else 0.0) * side[b]" in rows.check(s)


def test_operation_splitting_of_a_reduction(rows: Rows):
    s = RaggedSchedule(rows.R)
    s.partition_loop(rows.R.loops[1], rows.n(rows.b) // 4 * 4)
    assert (
        rows.check(s)
        == """\
    for b in parallel(S, b):
        R[b] = 0.0
        for t in serial(n(b) // 4 * 4):
            R[b] += A[n_begin(b) + t, 0]
        for t_rest in serial(n(b) - n(b) // 4 * 4):
            R[b]: R.rest = reduce(sum, A[n_begin(b) + (n(b) // 4 * 4 + t_rest), 0], init=R[b])
"""
    )


@pytest.mark.parametrize("tail", [tail for tail in Tail if tail is not Tail.OVERLAP])
def test_splitting_a_reduction(rows: Rows, tail: Tail):
    s = RaggedSchedule(rows.R)
    assert len(s.split_loop(rows.R.loops[1], 4, tail)) == (3 if tail is Tail.PEEL else 2)
    rows.check(s)


def test_a_reduction_adds_nothing_twice(rows: Rows):
    s = RaggedSchedule(rows.R)
    with pytest.raises(ScheduleError, match="cannot overlap blocks of loop 't'"):
        s.split_loop(rows.R.loops[1], 4, Tail.OVERLAP)


def test_horizontal_fusion(rows: Rows):
    s = RaggedSchedule(rows.X, rows.R)
    s.fuse_horizontally(rows.X.loops[0], rows.R.loops[0])
    assert "for b_b in parallel(S + S, b):" in rows.check(s)


def test_load_hoisting(rows: Rows):
    s = RaggedSchedule(rows.Y)
    s.compute_at(rows.X, rows.Y.loops[2])
    s.inline(rows.X)
    s.hoist_loads(rows.Y.loops[1])
    assert (
        rows.check(s)
        == """\
    for b in parallel(S, b):
        n_begin_b = n_begin(b)
        side_b = side[b]
        for t in parallel(n(b), t):
            for w in parallel(4, w):
                Y[n_begin_b + t, w] = (A[n_begin_b + t, w] + 1.0) * side_b
"""
    )


def test_split_dimensions_are_stored_apart(rows: Rows):
    s = RaggedSchedule(rows.Y)
    blocks, places = s.split_dimension(rows.X.dims[2], 2)
    s.reorder_dimensions(rows.X.dims[0], rows.X.dims[1], places, blocks)
    assert "X[n_begin(b) + t, w % 2, w // 2]" in rows.check(s)
    s = RaggedSchedule(rows.Y)
    s.split_dimension(rows.X.dims[1], 4)
    rows.check(s)


def test_tile_vectorize_unroll(rows: Rows):
    s = RaggedSchedule(rows.X)
    outer, inner = s.split_loop(rows.X.loops[1], 2)
    blocks, lanes = s.split_loop(rows.X.loops[2], 4)
    s.reorder(outer, blocks, inner, lanes)
    s.vectorize(lanes)
    s.unroll(inner)
    assert "vectorized(4" in rows.check(s)


# --- what is refused -----------------------------------------------------------------------------------------


def test_storage_that_is_shorter_than_the_loop(rows: Rows):
    s = RaggedSchedule(rows.X)
    s.pad_dimension(rows.X.dims[1], 4)
    s.pad_loop(rows.X.loops[1], 8)
    assert refusal(s.lower) == (
        "pad_loop: cannot pad loop 't' to a multiple of 8: 'X' is stored to a multiple of 4\n"
        "  because: 'X' is written for t < (n(b) + 7) // 8 * 8, and a row holds (n(b) + 3) // 4 * 4\n"
        "  example: b = 0, t = 4, S = 1, n(0) = 4\n"
        "  fix: pad_dimension(X.dims[1], 8)"
    )


def test_bulk_storage_that_is_shorter_than_the_loop(rows: Rows):
    s = RaggedSchedule(rows.X)
    s.fuse_dimensions(rows.X.dims[0], rows.X.dims[1], pad=4)
    before = s.log()
    message = refusal(s.fuse_loops, rows.X.loops[0], rows.X.loops[1], pad=8)
    what, because, example, fix = message.split("\n")
    assert what == "pad_loop: cannot pad loop 'b_t' to a multiple of 8: 'X' is too short"
    assert because == "  because: 'X' is written at b_t, and holds (n_begin(S) + 3) // 4 * 4"
    assert example.startswith("  example: b_t = ")
    assert fix == "  fix: store 'X' up to such a multiple"
    assert s.log() == before


def test_what_cannot_be_decided(rows: Rows):
    s = RaggedSchedule(rows.Y, rows.R)
    assert refusal(s.pad_loop, rows.R.loops[1], 2) == (
        "pad_loop: cannot pad loop 't'\n"
        "  because: it is the loop of a reduction: more of it would be another value\n"
        "  fix: split it with a peeled tail"
    )
    assert refusal(s.compute_at, rows.A, rows.Y.loops[0]) == (
        "compute_at: cannot compute 'A' in loop 'b' of 'Y'\n  because: callers give it: it is not computed"
    )
    assert refusal(s.pad_loop, rows.X.loops[0], 2) == (
        "pad_loop: cannot pad loop 'b'\n"
        "  because: n(b) is looked up at its index, and is not known beyond its end"
    )
    assert refusal(s.pad_dimension, rows.X.dims[0], 2) == (
        "pad_dimension: cannot pad dimension 'b' of 'X'\n"
        "  because: n(b) is looked up at its index, and is not known beyond its end"
    )
    assert refusal(s.pad_dimension, rows.X.dims[1], 0) == (
        "pad_dimension: cannot pad dimension 't' of 'X'\n  because: 0 is no multiple"
    )
    assert refusal(s.reorder_dimensions, *(rows.X.dims[k] for k in (1, 0, 2))) == (
        "reorder_dimensions: cannot store 'X' in the order (t, b, w)\n"
        "  because: 't' extends n(b), which depends on 'b'\n"
        "  fix: put 'b' before 't'"
    )
    assert refusal(s.reorder_dimensions, *rows.X.dims[:2]) == (
        "reorder_dimensions: (b, t) are not all dimensions of 'X', each once"
    )
    assert refusal(s.fuse_dimensions, rows.X.dims[0], rows.X.dims[2]) == (
        "fuse_dimensions: 'b' and 'w' of 'X' are not stored side by side, in this order"
    )
    assert refusal(s.fuse_dimensions, rows.X.dims[1], rows.X.dims[2], pad=4) == (
        "fuse_dimensions: cannot store 't' and 'w' of 'X' up to a multiple of 4\n"
        "  because: they are not rows of different lengths\n"
        "  fix: pad_dimension(X.dims[1], ...)"
    )
    assert refusal(s.split_dimension, rows.Y.dims[1], 4) == (
        "split_dimension: cannot split 't' of 'Y' into blocks of 4\n"
        "  because: it is an output, and its last block would not be full"
    )
    for call in (s.split_dimension, s.fuse_dimensions, s.reorder_dimensions):
        name = call.__name__
        others = (2,) if name == "split_dimension" else (rows.A.dims[1],)
        assert refusal(call, rows.A.dims[0], *others) == (
            f"{name}: the dimensions are not of one tensor that is computed here\n"
            "  because: inputs are stored as callers hold them"
        )
    s.split_dimension(rows.X.dims[2], 2)
    assert refusal(s.split_dimension, rows.X.dims[2], 2) == (
        "split_dimension: cannot split 'w' of 'X' into blocks of 2\n  because: it is split or fused already"
    )
    s.lower()
    assert refusal(s.pad_loop, rows.X.loops[1], 2) == (
        "pad_loop: cannot pad loop 't'\n"
        "  because: the loops have been made\n"
        "  fix: decide on storage and padding before loops are rewritten or printed"
    )


def test_a_dimension_that_others_depend_on_is_stored_whole(rows: Rows):
    s = RaggedSchedule(rows.Y)
    s.split_dimension(rows.X.dims[0], 2)
    assert refusal(s.lower) == (
        "cannot store the dimensions of 'X' so\n"
        "  because: 't' extends n(b), and 'b' is not stored as one dimension\n"
        "  fix: leave 'b' as it is"
    )


def test_loops_are_not_brought_past_what_their_bounds_depend_on(rows: Rows):
    s = RaggedSchedule(rows.X)
    assert refusal(s.reorder, rows.X.loops[1], rows.X.loops[0]) == (
        "reorder: cannot bring the loops into the order t, b\n"
        "  because: how often 't' runs, n(b), depends on 'b'"
    )


def test_what_a_prelude_cannot_know_is_not_fused(rows: Rows):
    t, u = ragged.dim("t"), ragged.dim("u")
    dims = [(rows.b, ragged.size("S")), (t, rows.n(rows.b)), (u, t + 1)]
    Z = ragged.compute("Z", dims, lambda b, t, u: rows.A[b, t, 0] + rows.A[b, u, 1])
    s = RaggedSchedule(Z)
    assert refusal(s.fuse_loops, Z.loops[1], Z.loops[2]) == (
        "fuse_ragged: cannot fuse the loops 't' and 'u'\n"
        "  because: how many rows there are, n(b), depends on 'b', and a prelude has no such loop\n"
        "  fix: fuse it with the loop 'b' first"
    )
    outer = s.fuse_loops(Z.loops[0], Z.loops[1])
    s.fuse_loops(outer, Z.loops[2])
    rows.check(s)


def test_names_that_are_not_there(rows: Rows):
    s = RaggedSchedule(rows.X)
    assert refusal(s.tensor, "Q") == "the program has no tensor 'Q'"
    assert refusal(s.inline, rows.Y) == "inline: cannot inline 'Y'\n  because: 'Y' is not of this program"
    s.split_loop(rows.X.loops[1], 2, Tail.PEEL)
    assert refusal(s.loop, rows.X.loops[1]) == (
        "loop 't' of 'X' is 3 loops now\n  fix: name one of those that the primitive returned"
    )


def test_results_end_where_rows_do_though_storage_goes_on(rows: Rows):
    s = RaggedSchedule(rows.X)
    s.fuse_dimensions(rows.X.dims[0], rows.X.dims[1], pad=8)
    s.fuse_loops(rows.X.loops[0], rows.X.loops[1], pad=8)
    x = ragged.array([np.full((k, 4), k, np.float32) for k in LENGTHS])
    y = ragged.compile(s)(A=x)
    for one, other in zip(x.rows(), y.rows(), strict=True):
        np.testing.assert_array_equal(other, one + 1.0)


@pytest.mark.parametrize("policy", Policy)
def test_iterations_are_dealt_out_by_their_work(rows: Rows, policy: Policy):
    s = RaggedSchedule(rows.X, rows.R)
    s.remap(rows.X.loops[0], rows.n(rows.b), policy)
    s.remap(rows.R.loops[0], rows.n(rows.b) * 2, policy)
    assert "b = b_order(b_r)" in str(s.lower())
    rng = np.random.default_rng(1)
    for lengths in (LENGTHS, [], [4], [0, 0], [7, 1, 1, 1, 1]):
        x = ragged.array(
            [rng.standard_normal((k, 4)).astype(np.float32) for k in lengths] or np.empty((0, 0, 4), "f4")
        )
        if lengths == LENGTHS:
            function = ragged.compile(s, threads=2)
        result = function(A=x)
        assert [row.tolist() for row in result["X"].rows()] == [(row + 1).tolist() for row in x.rows()]
        want = [row[:, 0].sum() for row in x.rows()]
        np.testing.assert_allclose(result["R"], np.asarray(want, np.float32), atol=1e-5)


def test_work_may_be_a_number(rows: Rows):
    for share in ("balance", "remap"):
        s = RaggedSchedule(rows.X)
        getattr(s, share)(rows.X.loops[0], 1)
        x = ragged.array([np.ones((k, 4), np.float32) for k in LENGTHS])
        assert all((row == 2).all() for row in ragged.compile(s, threads=2)(A=x).rows())
        with pytest.raises(ModelError, match=r"'1.5' is no integer"):
            getattr(RaggedSchedule(rows.X), share)(rows.X.loops[0], 1.5)


def test_what_a_step_declares_has_values_by_other_steps_alone(rows: Rows):
    s = RaggedSchedule(rows.X)
    s.apply(declare_order, "order", s.loop("b"))
    s.apply(remap_iterations, s.loop("b"), s.function("order"))
    function = ragged.compile(s)
    with pytest.raises(
        DataError, match=r"nothing gives the values of 'order'(.|\n)*fix: Schedule.balance or"
    ):
        function(A=ragged.array([np.ones((k, 4), np.float32) for k in LENGTHS]))


@pytest.mark.parametrize("policy", Policy)
def test_workers_have_about_as_much_work(rows: Rows, policy: Policy):
    s = RaggedSchedule(rows.X)
    s.remap(rows.X.loops[0], rows.n(rows.b) * rows.n(rows.b), policy)
    function = ragged.compile(s, threads=4)
    lengths = np.random.default_rng(0).integers(1, 512, 64)
    x = ragged.array([np.ones((k, 4), np.float32) for k in lengths])
    function(A=x)
    key, _, _ = function._read({"A": x})
    tables = function._preludes.find(key, lambda: pytest.fail("the call has computed them")).values
    work = lengths[tables[function.signature.orders[0].name]].astype(np.int64) ** 2
    if policy is Policy.LONGEST_FIRST:
        begins = tables[function.signature.shares[0].name]
    else:
        assert function.signature.shares == ()
        begins = np.arange(5) * 16  # as many rows for each
    shares = [part.sum() for part in np.split(work, begins[1:-1])]
    assert max(shares) <= 1.1 * work.sum() / 4
    assert max(part.sum() for part in np.split(lengths.astype(np.int64) ** 2, 4)) > 1.15 * work.sum() / 4


@pytest.mark.parametrize("policy", Policy)
def test_rows_in_an_order_are_fused(rows: Rows, policy: Policy):
    s = RaggedSchedule(rows.X)
    s.remap(rows.X.loops[0], rows.n(rows.b) * 2, policy)  # where fused rows begin depends on their order
    s.fuse_loops(rows.X.loops[0], rows.X.loops[1])
    function = ragged.compile(s, threads=2)
    for lengths in (LENGTHS, [4], [0, 0], [7, 1, 1, 1, 1]):
        x = ragged.array([np.full((k, 4), i, np.float32) for i, k in enumerate(lengths)])
        assert [row.tolist() for row in function(A=x).rows()] == [(row + 1).tolist() for row in x.rows()]


@pytest.mark.parametrize("step", ["remap", "balance"])
def test_a_loop_that_a_step_made_is_shared_by_work(rows: Rows, step: str):
    """As the loop of the tensor that it was made of."""
    programs = []
    for named in (True, False):
        s = RaggedSchedule(rows.X)
        loop = rows.X.loops[0]
        if step == "remap":
            s.remap(loop if named else s.loop(loop), rows.n(rows.b) * 2)
        else:
            fused = s.fuse_loops(loop, rows.X.loops[1])
            s.balance(rows.X.loops[1] if named else fused, rows.X.dims[0].extent)
        programs.append(s.lower())
    assert difference(*programs) is None


def test_a_loop_that_a_step_made_is_not_padded(rows: Rows):
    s = RaggedSchedule(rows.X)
    (outer, *_) = s.split_loop(rows.X.loops[0], 4)
    assert "because: the loops have been made" in refusal(s.pad_loop, outer, 4)


def test_an_order_by_what_is_not_known_of_a_row_is_refused(rows: Rows):
    s = RaggedSchedule(rows.X)
    message = (
        "remap: cannot run loop 't' in another order\n"
        "  because: loops around it change how often it runs, n(b) times, or its work, n(b)\n"
        "  fix: name an outermost loop, or fuse_loops with those around it first"
    )
    assert refusal(s.remap, rows.X.loops[1], rows.n(rows.b)) == message


def test_work_is_of_dimensions_that_the_loop_knows(rows: Rows):
    s = RaggedSchedule(rows.X)
    s.fuse_loops(rows.X.loops[0], rows.X.loops[1])  # a fused loop that nowhere asks in which row it is
    assert refusal(s.balance, rows.X.loops[1], rows.n(rows.b)) == (
        "balance: cannot share out loop 'b_t' by work\n  because: n(b) names 'b', which is not known there"
    )


def test_shares_of_a_loop_in_others_are_refused(rows: Rows):
    s = RaggedSchedule(rows.X)
    message = (
        "balance: cannot share out loop 't' by work\n"
        "  because: loops around it change how often it runs, n(b) times, or its work, n(b)\n"
        "  fix: name an outermost loop, or fuse_loops with those around it first"
    )
    assert refusal(s.balance, rows.X.loops[1], rows.n(rows.b)) == message


def test_what_would_not_count_in_loops_of_others_is_refused(rows: Rows):
    because = "because: 'X' is computed in the loops of 'Y', and stored for one iteration"
    fix = "fix: decide on the loops and the storage of 'Y'"
    s = RaggedSchedule(rows.Y)
    s.compute_at(rows.X, rows.Y.loops[1])
    X = rows.X
    for call, args in (
        (s.pad_loop, (X.loops[1], 4)),
        (s.pad_dimension, (X.dims[1], 4)),
        (s.split_dimension, (X.dims[2], 2)),
        (s.reorder_dimensions, (X.dims[0], X.dims[2], X.dims[1])),
        (s.fuse_dimensions, (X.dims[0], X.dims[1], 4)),
    ):
        assert refusal(call, *args).splitlines()[1:] == [f"  {because}", f"  {fix}"]


def test_decisions_that_computing_elsewhere_would_undo_are_refused(rows: Rows):
    message = (
        "compute_at: cannot compute 'X' in loop 't' of 'Y'\n"
        "  because: how 'X' is stored or padded has been decided on, and would not count any more\n"
        "  fix: leave those decisions out"
    )
    s = RaggedSchedule(rows.Y)
    s.pad_dimension(rows.X.dims[1], 4)
    assert refusal(s.compute_at, rows.X, rows.Y.loops[1]) == message


def test_sums_inside_an_expression_go_with_it(rows: Rows):
    head, place = ragged.dim("head"), ragged.dim("place")
    X = ragged.input_tensor("X", [*rows.X.dims[:2], (head, 2), (place, 3)])
    row = X.dims[:3]
    half = ragged.compute("half", [*row, (place, 3)], lambda b, t, h, i: X[b, t, h, i] * 0.5)
    total = ragged.compute("total", row, lambda b, t, h: 1.0 / ragged.sum(3, lambda i: half[b, t, h, i]))
    Y = ragged.compute("Y", X.dims, lambda b, t, h, i: X[b, t, h, i] * total[b, t, h])
    s = RaggedSchedule(Y)
    s.compute_at(total, Y.loops[2])
    s.compute_at(half, Y.loops[2])
    assert " ".join(str(s.lower()).split()).count("for h in") == 1
    x = ragged.array([np.arange(1.0, 1.0 + 6 * k, dtype=np.float32).reshape(k, 2, 3) for k in (2, 0, 1)])
    for mine, own in zip(ragged.compile(s)(X=x), x, strict=True):
        np.testing.assert_allclose(mine, own / (own * 0.5).sum(-1, keepdims=True), rtol=1e-6)

    both, untouched = (
        RaggedSchedule(total, half),
        RaggedSchedule(total, half),
    )  # a refusal leaves the sum where it was
    assert "it is an output" in refusal(both.compute_at, half, total.loops[2])
    assert str(both.lower()) == str(untouched.lower())
    assert str(both.lower()).count("for h in") == 3


def test_wide_tiles_beside_what_reads_them_fit_the_stack():
    batch, time, wide, tile, lane = (ragged.dim(name) for name in ("batch", "time", "wide", "tile", "lane"))
    n = ragged.length_fn("n", over=batch)
    width, lanes = 65, 48
    X = ragged.input_tensor("X", [(batch, ragged.size("B")), (time, n(batch)), (wide, width)])
    Y = ragged.compute(
        "Y",
        [X.dims[0], (tile, (n(batch) + (lanes - 1)) // lanes), (wide, width), (lane, lanes)],
        lambda b, q, d, w: X[b, ragged.minimum(q * lanes + w, n(b) - 1), d],
    )
    U = ragged.compute(
        "U",
        [Y.dims[0], Y.dims[1], Y.dims[3]],
        lambda b, q, w: ragged.sum(width, lambda d: Y[b, q, d, w] * Y[b, q, d, 0]),
    )
    s = RaggedSchedule(U)
    s.compute_at(Y, U.loops[0])
    x = ragged.array([np.random.default_rng(k).standard_normal((k, width)).astype("f4") for k in (3, 0, 100)])
    for row, own in zip(ragged.compile(s, threads=1)(X=x), x, strict=True):
        for q, tiles in enumerate(np.asarray(row)):
            places = np.minimum(q * lanes + np.arange(lanes), len(own) - 1)
            np.testing.assert_allclose(tiles, own[places] @ own[q * lanes], rtol=1e-4, atol=1e-4)


def test_a_loop_is_cut_at_a_number():
    r, t = ragged.dim("r"), ragged.size("T")
    x = ragged.input_tensor("X", [(r, t)])
    y = ragged.compute("Y", x.dims, lambda i: x[i] + 1.0)
    s = ragged.Schedule(y)
    with pytest.raises(ModelError, match=r"partition_loop: '1\.5' is no integer"):
        s.partition_loop(y.loops[0], 1.5)
    s.partition_loop(y.loops[0], 2)
    f = ragged.compile(s)
    for size in range(5):
        assert f(X=np.arange(size, dtype=np.float32)).tolist() == [each + 1 for each in range(size)]
