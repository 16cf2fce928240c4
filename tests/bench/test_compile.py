"""What compiling library models takes, in counts, which no load of the machine changes; and the command for times."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.compile import COUNTS, MODELS, PARTS, count

ROOT = Path(__file__).resolve().parents[2]
RECORDED = {
    "tree_sum": (11, 42, 17, 71),
    "tree_fc": (263, 259, 24, 98),
    "tree_rnn": (336, 366, 31, 118),
    "tree_lstm_64": (459, 630, 42, 168),
    "mv_rnn_64": (324, 411, 28, 114),
    "gru": (405, 425, 23, 93),
}
"""`COUNTS` of each model. Lower a number when it has fallen; a rise of a tenth needs a reason in the commit."""


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
    assert set(found["seconds"]) == set(PARTS) and set(found["counts"]) == set(COUNTS)
    assert found["seconds"]["llvm"] > 0 and found["counts"]["proofs"] >= found["counts"]["questions"] > 0
