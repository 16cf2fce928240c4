"""`cortex explain` and `explain()` of compiled functions."""

import cortex
from cortex import models
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
    log = [line for line in fn.show("schedule").splitlines() if line.startswith("s.apply")]
    steps = [step for each in fn.rules for step in each.applied]
    assert steps and set(steps) <= set(log)
    assert "not run: per_node_matrices=False" in fn.explain()
    fn.save(tmp_path / "m.cortex")
    assert cortex.load(tmp_path / "m.cortex").rules == fn.rules


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
