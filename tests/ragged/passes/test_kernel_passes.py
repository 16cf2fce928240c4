"""Each pass on the running example: its text before and after, and what the program computes."""

import numpy as np
import pytest

from ragged.errors import InternalError
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.program import StageKind
from ragged.ir.rewrite import labels_of
from ragged.ir.stmt import Check
from ragged.ir.verify import verify
from ragged.ir.walk import leaves
from ragged.passes.contract_storage import contract_storage
from ragged.passes.discharge_checks import discharge_checks
from ragged.passes.insert_checks import insert_checks
from ragged.passes.pipeline import Pass, run_passes
from ragged.passes.serialize_loops import serialize_loops
from tests.ragged.passes.programs import TREE, tree_data

PASSES = (insert_checks, discharge_checks, serialize_loops, contract_storage)


def test_the_example_prints_as_it_is_written():
    assert to_text(parse(TREE)) == TREE


@pytest.mark.parametrize("upto", range(1, len(PASSES) + 1), ids=lambda n: PASSES[n - 1].__name__)
def test_text_after_each_pass(upto, golden):
    program = parse(TREE)
    notes = ()
    for each in PASSES[:upto]:
        rewritten = each(program)
        program, notes = rewritten.program, rewritten.notes
        verify(program)
    golden(f"{PASSES[upto - 1].__name__}.txt", "\n".join((to_text(program), *notes)))


@pytest.mark.parametrize("seed", range(12))
def test_no_pass_changes_what_is_computed(seed):
    program = parse(TREE)
    sizes, arrays = tree_data(depth=seed % 5, seed=seed)
    want = interpret(program, sizes, arrays, seed=seed)["h"]
    for each in PASSES:
        program = each(program).program
        got = interpret(program, sizes, arrays, seed=seed + 1)["h"]
        np.testing.assert_array_equal(got, want)


def test_passes_leave_what_they_are_given():
    program = parse(TREE)
    for each in PASSES:
        before = to_text(program)
        after = each(program)
        assert to_text(program) == before
        program = after.program


def test_labels_are_forwarded():
    program = parse(TREE)
    steps = run_passes(program, [Pass(each, "") for each in PASSES])
    total = steps[1].result.forwarding
    for step in steps[2:]:
        total = total.then(step.result.forwarding)
    assert {old: (old,) for old in labels_of(program)} == dict(total.labels)


def test_every_check_of_the_example_is_proven():
    program = discharge_checks(insert_checks(parse(TREE)).program).program
    assert not [leaf for leaf in leaves(program.kernel) if isinstance(leaf, Check)]
    prelude = program.stage(StageKind.PRELUDE)
    assert [leaf for leaf in leaves(prelude.body) if isinstance(leaf, Check)]


def test_a_check_that_no_fact_proves_stays():
    text = TREE.replace("-1 <= word(n) < 10", "-1 <= word(n) < 11")
    rewritten = discharge_checks(insert_checks(parse(text)).program)
    left = [leaf for leaf in leaves(rewritten.program.kernel) if isinstance(leaf, Check)]
    assert [check.label.name for check in left] == ["emb.bound0"]
    kept = [note for note in rewritten.notes if note.startswith("kept")]
    assert len(kept) == 1 and "word(1) = 10" in kept[0]


def test_storage_stays_where_another_iteration_reads_it():
    text = TREE.replace("lh[node, i] = h[left(node), i]", "lh[node, i] = lh[left(node), i]")
    program = serialize_loops(parse(text)).program
    names = [buffer.name for buffer in contract_storage(program).program.buffers]
    assert names == ["emb", "h", "lh"]


def test_storage_stays_where_a_read_comes_first():
    text = TREE.replace("lh[node, i] = h[left(node), i]", "lh[node, i] = lh[node, i] + h[left(node), i]")
    names = [buffer.name for buffer in contract_storage(parse(text)).program.buffers]
    assert names == ["emb", "h", "lh"]


def test_large_storage_is_shared_by_serial_iterations_only():
    text = TREE.replace("lh: workspace(float32[num_nodes, 4])", "lh: workspace(float32[num_nodes, 5000])")
    text = text.replace(
        "for i in serial(4):\n                lh", "for i in serial(5000):\n                lh"
    )
    text = text.replace("h[left(node), i]", "h[left(node), 0]")
    parallel = contract_storage(parse(text)).program
    assert "lh: workspace(float32[num_nodes, 5000])" in to_text(parallel)
    serial = contract_storage(serialize_loops(parse(text)).program).program
    assert "lh: workspace(float32[5000])" in to_text(serial)


def test_a_pass_that_breaks_the_program_is_named():
    def drop_a_buffer(program):
        rewritten = serialize_loops(program)
        from dataclasses import replace

        return replace(rewritten, program=replace(program, buffers=program.buffers[1:]))

    with pytest.raises(InternalError, match="pass 'drop_a_buffer' left an invalid program"):
        run_passes(parse(TREE), [Pass(drop_a_buffer, "to fail")])
