"""This project, with products in bfloat16."""

from __future__ import annotations

from typing import ClassVar

from bench.peers import cortex_compiled
from cortex.compiler.compile import Precision


class Measured(cortex_compiled.Measured):
    """The same function with the factors of its products rounded."""

    precision: ClassVar[Precision] = "bf16"
