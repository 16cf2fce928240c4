"""Tables and JSON."""

import json
import math

from cortex.cli.report import print_json, print_table, print_text


def test_json_has_null_for_what_it_cannot_hold(capsys):
    print_json({"error": math.inf, "rows": [math.nan, 1.5, {"word": "Café"}], "none": None, "on": True})
    assert json.loads(capsys.readouterr().out) == {
        "error": None,
        "rows": [None, 1.5, {"word": "Café"}],
        "none": None,
        "on": True,
    }


def test_brackets_are_text(capsys):
    print_table(("what", "how many"), [["[red]h[/red]", "3"]], text=("what",))
    print_text("h[node, i] :warning:")
    out = capsys.readouterr().out
    assert "[red]h[/red]" in out and "h[node, i] :warning:" in out
