"""What models lower to: golden programs, read like code."""

import pytest

from cortex import models, ra
from ragged.errors import ScheduleError
from ragged.ir.verify import verify

N, H, V = ra.N, 4, 10


def running_example():
    """The CORTEX paper's Listing 1."""
    emb = ra.input_tensor("emb", (V, H))
    word = ra.node_input("word", dtype="int32")
    rnn_ph = ra.placeholder((N, H))
    leaf = ra.compute((N, H), lambda n, i: emb[word[n], i], name="leaf")
    lh = ra.compute((N, H), lambda n, i: rnn_ph[n.left, i], name="lh")
    rh = ra.compute((N, H), lambda n, i: rnn_ph[n.right, i], name="rh")
    rec = ra.compute((N, H), lambda n, i: ra.tanh(lh[n, i] + rh[n, i]), name="rec")
    body = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, rec), name="body")
    return ra.recursion_op(rnn_ph, body, structure=ra.Tree(max_children=2)), body


@pytest.mark.parametrize("batched", [False, True], ids=["nodes", "batches"])
@pytest.mark.parametrize("specialized", [False, True], ids=["checked", "specialized"])
def test_the_running_example(batched, specialized, golden):
    model, body = running_example()
    schedule = ra.Schedule(model)
    if batched:
        schedule.dynamic_batch()
    if specialized:
        schedule.specialize_if_else(body)
    program = schedule.lower()
    verify(program)
    golden(
        f"running_example_{'batches' if batched else 'nodes'}_{'specialized' if specialized else 'checked'}.txt",
        str(program),
    )


@pytest.mark.parametrize(
    "model",
    [
        models.tree_fc(H, V),
        models.tree_lstm(H, 3, V),
        models.mv_rnn(3, V),
        models.tree_lstm(H, 3, input="projected"),
        models.nary_tree_lstm(H, input="projected"),
        models.gru(H, input="projected"),
    ],
    ids=["tree_fc", "tree_lstm", "mv_rnn", "tree_lstm_projected", "nary_tree_lstm", "gru"],
)
def test_library_models(model, golden, request):
    schedule = ra.Schedule(model)
    schedule.dynamic_batch()
    golden(f"{request.node.callspec.id}.txt", str(schedule.lower()))


def test_a_reduction_under_a_branch_is_guarded(golden):
    word = ra.node_input("word", dtype="int32", default=-1)
    emb, w = ra.input_tensor("emb", (V, H)), ra.input_tensor("w", (H, H))
    ph = ra.placeholder((N, H))
    looked_up = ra.compute(
        (N, H),
        lambda n, i: (
            ra.where(word[n] >= 0, ra.sum(H, lambda j: w[i, j] * emb[word[n], j]), 0.0)
            + ra.sum_children(n, lambda k: ph[k, i])
        ),
        name="looked_up",
    )
    golden("guarded_reduction.txt", str(ra.Schedule(ra.recursion_op(ph, looked_up)).lower()))


def test_other_branches_are_asked_at_each_node(golden):
    x = ra.node_input("x", (H,))
    ph = ra.placeholder((N, H))
    one = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: ph[k, i]), name="one")
    many = ra.compute((N, H), lambda n, i: ra.tanh(ra.sum_children(n, lambda k: ph[k, i])), name="many")
    leaf = ra.compute((N, H), lambda n, i: x[n, i], name="leaf")
    inner = ra.if_then_else((N, H), lambda n, i: (ra.num_children(n) == 1, one, many), name="inner")
    body = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, inner), name="body")
    schedule = ra.Schedule(ra.recursion_op(ph, body))
    schedule.dynamic_batch()
    schedule.specialize_if_else(body)
    golden("branch_on_children.txt", str(schedule.lower()))


def test_schedules_log_their_steps():
    model, body = running_example()
    schedule = ra.Schedule(model)
    schedule.dynamic_batch()
    schedule.specialize_if_else(body)
    again = ra.Schedule(model)
    exec(schedule.log(), {"s": again, "body": body})
    assert str(again.lower()) == str(schedule.lower())


def refusal(act):
    with pytest.raises(ScheduleError) as caught:
        act()
    return caught.value.what


def test_refusals_leave_the_schedule_as_it_was():
    model, body = running_example()
    schedule = ra.Schedule(model)
    rec = next(tensor for tensor in model.computes if tensor.name == "rec")
    before = str(schedule.lower())
    assert refusal(lambda: schedule.specialize_if_else(rec)) == "specialize_if_else: 'rec' has no branches"
    other = running_example()[1]
    assert (
        refusal(lambda: schedule.specialize_if_else(other))
        == "specialize_if_else: 'body' is not a tensor of this model"
    )
    assert str(schedule.lower()) == before and schedule.log() == ""
    schedule.dynamic_batch()
    assert refusal(schedule.dynamic_batch) == "dynamic_batch: the nodes are batched already"
    schedule.specialize_if_else(body)
    assert (
        refusal(lambda: schedule.specialize_if_else(body))
        == "specialize_if_else: 'body' is specialized already"
    )


def test_a_branch_that_compares_with_no_number_is_not_specialized():
    ph = ra.placeholder((N, H))
    one = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: ph[k, i]))
    two = ra.compute((N, H), lambda n, i: 1.0 + ra.sum_children(n, lambda k: ph[k, i]))
    body = ra.if_then_else((N, H), lambda n, i: (ra.num_children(n) % 2 == 0, two, one), name="body")
    schedule = ra.Schedule(ra.recursion_op(ph, body))
    assert refusal(lambda: schedule.specialize_if_else(body)) == (
        "specialize_if_else: the condition of 'body' does not tell nodes apart"
    )
