"""Query plans as PostgreSQL prints them, EXPLAIN (FORMAT JSON): dicts are nodes, and `Plans` holds a node's children.

From the root of the repository:

    python examples/query_plan.py
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

import cortex
from cortex import models, ra

OPERATORS = ["Seq Scan", "Index Scan", "Hash", "Hash Join", "Nested Loop", "Sort", "Aggregate"]
FEATURES = len(OPERATORS) + 2


def with_features(plan: dict[str, Any]) -> dict[str, Any]:
    """Give each node of a plan `x` (FEATURES,): which operator it is, and logarithms of its rows and cost."""
    plan["x"] = np.zeros(FEATURES, np.float32)
    plan["x"][OPERATORS.index(plan["Node Type"])] = 1
    plan["x"][-2:] = np.log1p([plan["Plan Rows"], plan["Total Cost"]])
    for below in plan.get("Plans", ()):
        with_features(below)
    return plan


def main() -> None:
    """Compile a TreeLSTM, run it over the plans of a file, and compare it with the oracle."""
    text = (Path(__file__).parent / "data" / "plan.json").read_text(encoding="utf-8")
    plans = [with_features(each["Plan"]) for each in json.loads(text)]
    model = models.tree_lstm(hidden=16, embed=FEATURES, input="vector")
    params = model.init_params(seed=0)
    out = cortex.compile(model, params, children="Plans")(plans)
    for number, plan in enumerate(plans):
        oracle: Any = ra.evaluate(model, params, plan, children="Plans")
        assert np.abs(out.nodes("h")[number] - oracle["h"]).max() <= 1e-5
        nodes: list[Any] = out.keys(number)
        print(" < ".join(node["Node Type"] for node in nodes))


if __name__ == "__main__":
    main()
