"""`cortex explain` and `explain()` of compiled functions."""

import cortex
from cortex import models, ra
from ragged.auto.grid_schedule import GRID_RULES
from ragged.ir.rule_record import Refusal, RuleRecord, rules_from_json, rules_to_json

MODEL = models.tree_sum(hidden=4, vocab=7)


def test_the_command_names_rules_steps_and_reasons(cortex_json):
    document = cortex_json("explain", "tree_sum", "--hidden", 4, "--words", 7, "--threads", 2)
    rules = {each["rule"]: each for each in document["rules"]}
    assert document["model"] == "tree_sum"
    assert any("distribute_over_team" in step for step in rules["distribute_over_team"]["applied"])
    assert all(
        refusal["step"] and refusal["reason"] for each in rules.values() for refusal in each["refused"]
    )


def test_the_steps_of_all_rules_are_the_schedule_and_travel_with_it(tmp_path):
    options = cortex.RecursionOptions(per_node_matrices=False)
    fn = cortex.compile(MODEL, MODEL.init_params(), threads=2, options=options)
    log = [line for line in fn.show("schedule").splitlines() if line.startswith("s.")]
    steps = [step for each in fn.rules for step in each.applied]
    assert steps and set(steps) <= set(log)
    assert "not run: per_node_matrices=False" in fn.explain()
    fn.save(tmp_path / "m.cortex")
    assert cortex.load(tmp_path / "m.cortex").rules == fn.rules


def recursion(model, given=None, **options):
    """Return the records of a recursion's schedule by rule."""
    fn = cortex.compile(
        given or model, model.init_params(), threads=1, options=cortex.RecursionOptions(**options)
    )
    assert fn.explain().startswith("\n".join(map(str, fn.rules)).partition("\n")[0])
    return {each.rule: each for each in fn.rules}


def test_the_recursion_comes_first_with_why_the_default_leaves_steps_out():
    rules = recursion(models.simple_tree_gru(4, 3, 9))
    names = [
        "dynamic_batch",
        "specialize",
        "tabulate",
        "hoist_constants",
        "hoist_inputs",
        "refactor",
        "unroll",
    ]
    assert [*rules][:7] == names
    assert rules["dynamic_batch"].applied == ("s.dynamic_batch(max_batch_nodes=10272)",)
    assert rules["specialize"].applied == ("s.specialize_leaves()",)
    assert rules["hoist_constants"].refused[0].step == "s.hoist_constants()"
    assert "there is nothing to hoist because" in rules["hoist_constants"].refused[0].reason
    assert (rules["refactor"].disabled, rules["unroll"].disabled) == ("refactor=()", "unroll=0")
    assert "for the sum of its children" in rules["refactor"].because
    assert "the largest term of its cost" in rules["unroll"].because


def test_options_of_the_recursion_are_explained():
    rules = recursion(
        models.simple_tree_gru(4, 3, 9), unroll=2, refactor=("Uh_z", "Uh_r"), hoist_inputs=False
    )
    assert rules["refactor"].applied == ("s.refactor(Uh_z)", "s.refactor(Uh_r)")
    assert rules["unroll"].applied == ("s.unroll(2)",) and "depth + 1 heights" in rules["unroll"].because
    assert rules["hoist_inputs"].disabled == "hoist_inputs=False"


def test_a_schedule_that_is_given_says_itself_what_it_leaves_out():
    schedule = ra.Schedule(MODEL)
    schedule.dynamic_batch()
    rules = recursion(MODEL, schedule)
    assert rules["dynamic_batch"].applied == ("s.dynamic_batch()",)
    assert rules["specialize"].disabled == rules["unroll"].disabled == "the given schedule leaves it out"


def test_over_a_dag_nothing_is_computed_again():
    rules = recursion(models.dag_rnn(hidden=4, embed=3))
    assert "computed again" in rules["unroll"].because and "computed again" in rules["refactor"].because
    assert [each.step for each in rules["compute_once"].refused] == [
        "s.compute_once(Wx)",
        "s.compute_once(Uh)",
    ]


def test_tables_that_could_be_are_offered():
    rules = recursion(models.tree_lstm(hidden=4, embed=64, vocab=3))
    assert "with table_bytes=" in rules["tabulate"].disabled


def test_a_gpu_has_rules_of_its_own():
    fn = cortex.compile(MODEL, MODEL.init_params(), target="cuda -arch=sm_90")
    rules = [each.rule for each in fn.rules]
    assert [name for name in rules if name in {each.name for each in GRID_RULES}] == [
        each.name for each in GRID_RULES
    ]
    assert any("distribute_over_blocks" in step for each in fn.rules for step in each.applied)


def test_a_record_as_text_and_json():
    record = RuleRecord("r", "a reason", ("s.apply(a)",), (Refusal("s.apply(b)", "c"),))
    assert str(record) == "r: a reason\n  applied s.apply(a)\n  refused s.apply(b)\n    c"
    assert str(RuleRecord("r", "a reason")) == "r: a reason\n  no site"
    assert rules_from_json(rules_to_json([record])) == (record,)
