"""The page of `cortex explain --html`, as a browser reads it."""

import re
import shutil
import subprocess

import pytest

from cortex import models
from cortex.cli.steps_page import steps_page
from cortex.compiler.bisect import compile_steps
from cortex.compiler.options import DEFAULT, scheduled
from ragged.ir.rule_record import RuleRecord
from ragged.machine import this_machine


def in_a_browser(path, folder):
    """Return the document that Chromium makes of a page, as text."""
    if shutil.which("chromium") is None:
        pytest.skip("there is no chromium; .ci/run installs it")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}", "--dump-dom"]
    command = ["chromium", *options, path.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def test_the_page_has_times_rules_and_every_step(cortex, tmp_path):
    path = tmp_path / "steps.html"
    result = cortex("explain", "tree_fc", "--hidden", 8, "--threads", 2, "--html", path)
    assert result.exit_code == 0, result.output
    shown = in_a_browser(path, tmp_path / "profile")
    assert "10 structures, 630 nodes in 6 levels, 2 workers" in shown
    assert re.search(r"<td>kernel</td><td>[0-9.]+</td><td>[0-9.]+ to [0-9.]+</td>", shown)
    share = float(re.search(r"GFLOP/s of [0-9.]+, ([0-9]+) %", shown)[1])
    assert 0 <= share <= 110
    numbers = [int(each) for each in re.findall(r"<summary>([0-9]+)\. ", shown)]
    assert len(numbers) > 20 and numbers == list(range(1, len(numbers) + 1))
    assert "tile_products: accumulators in registers" in shown and "s.apply(split, " in shown
    assert shown.count("<details>") == shown.count("</details>")


def test_a_step_shows_the_lines_that_it_changed():
    model = models.tree_fc(hidden=4, vocab=5)
    steps = list(compile_steps(scheduled(model, DEFAULT).lower(), 1))
    page = steps_page("a <b>", [RuleRecord("rule", "x < y")], steps, None, this_machine())
    assert "<title>a &lt;b&gt;</title>" in page and "<h2>Time</h2>" not in page
    assert 'class="added">+' in page and 'class="removed">-' in page and "rule: x &lt; y" in page
