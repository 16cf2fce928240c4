"""C++ level by level over oneDNN, with products in bfloat16: on the processor's matrix unit, where it has one."""

from __future__ import annotations

from typing import ClassVar

from bench.peers import onednn_by_hand


class Measured(onednn_by_hand.Measured):
    """The same models with the factors of their products rounded; sums, states and gates stay in float32."""

    rounded: ClassVar[bool] = True
