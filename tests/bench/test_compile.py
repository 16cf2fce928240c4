"""What compiling library models takes, in counts, which no load of the machine changes; and the command for times."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.compile import COUNTS, MODELS, PARTS, count

ROOT = Path(__file__).resolve().parents[2]
RECORDED = {
    "tree_sum": (11, 41, 17, 71),
    "tree_fc": (263, 258, 24, 98),
    "tree_rnn": (334, 356, 31, 118),
    "tree_lstm": (510, 603, 38, 154),
    "tree_lstm_64": (459, 621, 42, 167),
    "tree_gru": (498, 521, 30, 124),
    "simple_tree_gru": (498, 520, 30, 124),
    "mv_rnn_64": (324, 409, 28, 114),
    "dag_rnn": (189, 211, 22, 86),
    "lstm": (265, 321, 21, 81),
    "gru": (391, 401, 23, 93),
    "nary_tree_lstm_2": (763, 844, 30, 121),
    "nary_tree_lstm_6": (1337, 1656, 50, 217),
    "dense_4": (565, 597, 24, 99),
    "dense_16": (2605, 2193, 19, 83),
}
"""`COUNTS` of each model. Lower a number when it has fallen; a rise of a tenth needs a reason in the commit."""


def test_every_model_is_recorded():
    assert RECORDED.keys() == MODELS.keys()


@pytest.mark.parametrize("name", RECORDED)
def test_compiling_takes_no_more_than_was_recorded(name):
    found = count(MODELS[name]())
    recorded = dict(zip(COUNTS, RECORDED[name], strict=True))
    assert {each: found[each] for each in COUNTS if found[each] > 1.1 * recorded[each]} == {}


def test_the_command_times_each_part(tmp_path):
    command = [
        sys.executable,
        "-m",
        "bench.compile",
        "--models",
        "tree_sum",
        "--json",
        str(tmp_path / "a.json"),
    ]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=240)
    (found,) = json.loads((tmp_path / "a.json").read_text())["models"].values()
    assert 0 < found["cached"] < sum(found["seconds"].values())
    assert set(found["seconds"]) == set(PARTS) and set(found["counts"]) == set(COUNTS)
    assert found["seconds"]["llvm"] > 0 and found["counts"]["proofs"] >= found["counts"]["questions"] > 0
