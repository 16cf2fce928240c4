"""Log lines of compiles, cache look-ups and calls."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import ragged
from ragged.compiled import kernel_cache, log
from ragged.errors import UserError
from tests.ragged.api.functions import rows, scaled


def lines(caplog, logger: str) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == logger]


def test_compiles_cache_look_ups_and_calls_are_logged(cache_dir, caplog, monkeypatch):
    monkeypatch.setattr(kernel_cache, "changed_since_import", lambda packages: False)
    caplog.set_level(logging.INFO, "ragged")
    for _ in range(2):
        fn = ragged.compile(scaled(), threads=1)
    (entry,) = cache_dir.glob("*.entry")
    assert lines(caplog, "ragged.cache") == [f"{what} {entry.stem}" for what in ("miss", "store", "hit")]
    (compiled,) = lines(caplog, "ragged.compile")
    seconds = r"\d+\.\d{3}"
    parts = f"passes {seconds}, code generation {seconds}, linking {seconds}"
    assert re.fullmatch(rf"scaled for llvm .*: {seconds} s \({parts}\)", compiled)
    fn(A=rows((3, 1)))
    (call,) = lines(caplog, "ragged.call")
    assert re.fullmatch(r"scaled\(B=2\) -> B_1 \(4, 16\): \d+\.\d us", call), call


def test_calls_are_not_wrapped_when_they_are_not_logged():
    """Without logging a call costs nothing more."""
    fn = ragged.compile(scaled(), threads=1)
    assert type(fn._caller).__name__ == "Caller"


SCRIPT = """
import numpy as np, cortex
from cortex import models
model = models.tree_sum(hidden=4, vocab=3)
fn = cortex.compile(model, model.init_params(seed=0), threads=1)
fn([(1, 2)])
"""


def test_an_environment_variable_writes_them_to_standard_error():
    environment = os.environ | {"CORTEX_LOG": "compile, call"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True)
    first, second = done.stderr.splitlines()
    assert first.startswith("ragged.compile: model for llvm ")
    assert re.fullmatch(r"ragged\.call: the model\(.*num_nodes=3.*\) -> h \(3, 4\): \d+\.\d us", second), (
        second
    )


def test_another_name_is_refused(monkeypatch):
    monkeypatch.setenv("RAGGED_LOG", "calls")
    monkeypatch.delenv("CORTEX_LOG", raising=False)
    with pytest.raises(UserError) as caught:
        log.configure.__wrapped__()
    assert str(caught.value) == "LOG: nothing is logged under 'calls'\n  fix: some of compile,cache,call"


def test_other_handlers_see_them_too():
    assert np.all([logging.getLogger(f"ragged.{name}").propagate for name in ("compile", "cache", "call")])
