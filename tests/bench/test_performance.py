"""The page of performance, from a small run of invented numbers."""

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest

from bench.ceilings import Bandwidth, Ceilings
from bench.documents import Linearizing
from bench.operators import results as operators
from bench.operators.problems import Sizes
from bench.peers import PEERS
from bench.performance import main
from bench.ragged import parse as parse_ragged
from bench.recursive import parse
from bench.results import Gained, Predicted, Refused, Row, Scaled, TeamCost, Times, Weighed, spread
from bench.scaling_page import ScalingDocument


def times(peer, *end_to_end, arrays=None, kernel=None, share=None):
    def known(given):
        return None if given is None else spread(given)

    took = spread(end_to_end)
    return Times(
        peer, 1e-6, took, took, known(kernel), known(arrays), share, list(end_to_end), kernel, arrays
    )


def row(hidden, batch, *peers, workload="tree_lstm"):
    return Row(workload, hidden, batch, 3, 37.0 * batch, 1e6, 50.0 * batch, [50.0 * batch] * 3, list(peers))


CORTEX = times("cortex", 80.0, 75.0, 90.0, arrays=[72.0, 70.0, 80.0], kernel=[66.0, 65.0, 70.0], share=0.76)
HAND = times("onednn", 180.0, 190.0, 170.0, arrays=[90.0, 91.0, 99.0], kernel=[90.0, 91.0, 99.0], share=0.55)
LAYER = times("torch-rnn", 160.0, 150.0, 200.0, arrays=[100.0, 98.0, 120.0])
NODES = times("torch-nodes", 900.0, 800.0, 1200.0)
RUN = {
    "schema": 2,
    "command": ["recursive.py", "--batches", "1,10"],
    "at": 1_790_000_000,
    "machine": {"processor": "A processor", "system": "Linux", "cores": 2, "load": 1.25},
    "versions": {"python": "3.11.7", "numpy": "2.4.6"},
    "settings": {"threads": 2, "rounds": 3},
    "ceilings": [
        asdict(Ceilings(2, 470.0, (Bandwidth("L2", 500, 1000, 437.0), Bandwidth("L3", 5000, None, 210.0))))
    ],
    "rows": [asdict(each) for each in (row(256, 1, CORTEX, HAND, NODES), row(256, 10, HAND, CORTEX))],
    "refused": [asdict(Refused("numpy", "tree_lstm", 256, "numpy:\nTraceback\nValueError: no\n"))],
    "absent": [asdict(Refused("dynet", "tree_lstm", hidden, "not written")) for hidden in (256, 512)],
}


def operator_times(peer, ms, gflops):
    return operators.Times(peer, 1e-6, spread([1000 * ms]), gflops, [1000 * ms])


RAGGED = {
    "schema": 2,
    "command": ["ragged.py", "--sets", "cola"],
    "at": RUN["at"],
    "machine": RUN["machine"],
    "settings": asdict(operators.Settings(2, (32,), (Sizes(),), 3, 0.1, 7)),
    "ceilings": RUN["ceilings"][0],
    "rows": [
        asdict(operators.Row(name, shape, 3, 32, 370.0, flops, peers))
        for name, shape, flops, peers in (
            (
                "softmax",
                "cola, 32, 512",
                0.0,
                [operator_times("ragged", 2.0, None), operator_times("torch-padded", 3.0, None)],
            ),
            ("trmm", "512", 1e9, [operator_times("openblas", 5.0, 200.0)]),
            (
                "trmm",
                "1024",
                2e9,
                [operator_times("ragged", 4.0, 376.0), operator_times("openblas", 5.0, 300.0)],
            ),
        )
    ],
    "refused": [asdict(operators.Refused("torch-bmm", "vgemm", "64", "torch-bmm:\nits process ended"))],
}


def written(tmp_path, *more, run=RUN):
    result, page = tmp_path / "result.json", tmp_path / "page.md"
    result.write_text(json.dumps(run), encoding="utf-8")
    assert main([str(result), *map(str, more), "--out", str(page)]) == 0
    return page.read_text(encoding="utf-8")


def scaling_file(tmp_path):
    rows = [
        Scaled(
            "trmm",
            str(side),
            spread([800.0 * side]),
            spread([two * side]),
            Predicted(2, 100.0, 1.0, 400.0 * side),
            [Predicted(8, gbs, 1.25, us * side) for gbs, us in ((100.0, 160.0), (400.0, 125.0))],
        )
        for side, two in ((1, 500.0), (10, 400.0))
    ]
    path = tmp_path / "scaling.json"
    path.write_text(json.dumps(asdict(ScalingDocument(TeamCost(180.0, 60.0), rows))), encoding="utf-8")
    return path


def test_the_whole_page(golden, tmp_path):
    sizes, linearizing = tmp_path / "sizes.json", tmp_path / "linearizing.json"
    of_sizes = [asdict(row(hidden, 1, CORTEX, HAND)) for hidden in (64, 128)]
    sizes.write_text(json.dumps(RUN | {"rows": of_sizes}), encoding="utf-8")
    timings = [Linearizing("Node", 1, 1, 900.0, 950.0), Linearizing("Node", 10, 370, 9000.0, 9900.0)]
    linearizing.write_text(json.dumps({"timings": [asdict(each) for each in timings]}), encoding="utf-8")
    sequences = tmp_path / "sequences.json"
    of_sequences = {
        "rows": [asdict(row(256, 1, CORTEX, LAYER, workload="lstm"))],
        "command": ["recursive.py", "--workloads", "lstm,gru"],
        "refused": [],
        "absent": [asdict(Refused("torch-rnn", "gru", 256, "another cell"))],
    }
    sequences.write_text(json.dumps(RUN | of_sequences), encoding="utf-8")
    growth, memory = tmp_path / "growth.json", tmp_path / "memory.json"
    of_batches = [asdict(row(256, batch, CORTEX, NODES)) for batch in (1, 100)]
    growth.write_text(json.dumps(RUN | {"rows": of_batches}), encoding="utf-8")
    weighed = [Weighed("mv_rnn", 64, 100, 3416, 35_500_000, {"cortex": 57_700_000, "onednn": 39_300_000})]
    memory.write_text(json.dumps({"rows": [asdict(each) for each in weighed]}), encoding="utf-8")
    more = ("--sizes", sizes, "--linearizing", linearizing, "--sequences", sequences)
    gains = tmp_path / "gains.json"
    gained = [
        Gained("mv_rnn", 64, 10, name, spread([us, us + 1.0, us - 1.0]), 1000.0 / us)
        for name, us in (("one node after another", 1000.0), ("dynamic batches", 500.0))
    ]
    unrolled = [
        Gained("tree_rnn", 256, 10, name, spread([us]), 500.0 / us)
        for name, us in (("as it is", 500.0), ("unrolled by 1", 625.0))
    ]
    tables = {"rows": [asdict(each) for each in gained], "rewritten": [asdict(each) for each in unrolled]}
    gains.write_text(json.dumps(tables), encoding="utf-8")
    more += ("--growth", growth, "--memory", memory, "--gains", gains)
    alone, ragged = tmp_path / "alone.json", tmp_path / "ragged.json"
    alone.write_text(json.dumps(RUN | {"settings": {"threads": 1, "rounds": 3}}), encoding="utf-8")
    ragged.write_text(json.dumps(RAGGED), encoding="utf-8")
    widths = tmp_path / "widths.json"
    widths.write_text(json.dumps(RAGGED | {"rows": RAGGED["rows"][:1], "refused": []}), encoding="utf-8")
    more += ("--threads", alone, tmp_path / "result.json", "--ragged", ragged, widths)
    ragged_alone = tmp_path / "ragged_alone.json"
    one = RAGGED["settings"] | {"threads": 1}
    ragged_alone.write_text(json.dumps(RAGGED | {"settings": one}), encoding="utf-8")
    more += ("--ragged-threads", ragged, ragged_alone)
    variations = [
        operators.Variation("linear", "mnli", name, spread([ms]), 4.0 / ms)
        for name, ms in (("padded to the longest", 4.0), ("all rows", 1.0))
    ]
    filled = [
        operators.Tables(
            "cola, 32", shared, 40_000, 2_000, 8_000, 9_000, *(spread([us]) for us in (90, 9, 20, 30))
        )
        for shared in (False, True)
    ]
    padding = [operators.Padding("cola", 32, 2.5e9, 2.9, 1.05, 3e7, 1e7, 9e6)]
    for option, rows in (("variations", variations), ("tables", filled), ("padding", padding)):
        path = tmp_path / f"{option}.json"
        path.write_text(json.dumps({"rows": [asdict(each) for each in rows]}), encoding="utf-8")
        more += (f"--{option}", path)
    more += ("--scaling", scaling_file(tmp_path))
    golden("performance.md", written(tmp_path, *more))


def test_what_was_not_measured_is_left_out(tmp_path):
    text = written(tmp_path, run=RUN | {"refused": [], "absent": [], "rows": [asdict(row(256, 1, HAND))]})
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == ["# Performance", "## End to end, from Python objects", "## From flat arrays"]


def test_what_a_peer_lacks_is_said_where_it_first_stands(tmp_path):
    rows = [asdict(row(256, 1, CORTEX, times("dynet", 900.0, 800.0)))]
    text = written(tmp_path, run=RUN | {"rows": rows})
    said = "- DyNet, autobatching: its wheel has neither a BLAS nor threads, so it computes with one.\n\n| model |"
    assert text.index(said) < text.index("| DyNet, autobatching |")
    assert text.count("neither a BLAS") == 1


def test_an_old_result_is_refused(tmp_path):
    with pytest.raises(ValueError, match="schema 1, not 2: measure again"):
        written(tmp_path, run=RUN | {"schema": 1})


def test_the_makefile_names_peers_that_there_are():
    makefile = (Path(__file__).resolve().parents[2] / "Makefile").read_text(encoding="utf-8")
    (named,) = re.findall(r"^PERFORMANCE_PEERS := (.*)$", makefile, re.MULTILINE)
    assert set(named.split(",")) == set(PEERS) - {"torch-compiled", "jax"}, "those take minutes to compile"
    runs = re.findall(
        r"^(?!BENCH|SHAPES|TC_)[A-Z]+_ARGS := (--.*)$", makefile.replace("\\\n", ""), re.MULTILINE
    )
    assert len(runs) == 5
    for run in runs:
        _, options = parse(run.replace("$(PERFORMANCE_PEERS)", named).split())
        assert not {"torch-compiled", "jax"} & set(options.peers)
    for run in re.findall(r"^RAGGED_[A-Z]+_ARGS := (--.*)$", makefile.replace("\\\n", ""), re.MULTILINE):
        parse_ragged(run.split())
