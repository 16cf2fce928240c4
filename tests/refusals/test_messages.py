"""Each of these programs, models and files is refused with exactly the message in its golden file."""

from __future__ import annotations

import pytest

from ragged.errors import UserError
from tests.refusals.cases import CASES


@pytest.mark.parametrize("name", CASES)
def test_message(name, golden, tmp_path):
    with pytest.raises(UserError) as refused:
        CASES[name](tmp_path)
    error = refused.value
    lines = [line for line in str(error).splitlines() if not line.startswith("  at ")]
    text = "\n".join(lines).replace(f"{tmp_path}/", "")
    golden(f"{name}.txt", f"{type(error).__name__}: {text}\n")
