"""JAX: the formulas jitted for the sizes of a row; convolutions and pooling by its own operators."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from bench.peers.tc.peer import Call, TcPeer
from bench.tc.formulas import FORMULAS, WINDOWS
from bench.tc.workloads import Operands, Workload


def _convolution(x: Any, k: Any, stride: int = 1, padding: int = 0) -> Any:
    return lax.conv_general_dilated(x, k, (stride, stride), [(padding, padding)] * 2)


def _group_convolution(x: Any, k: Any, b: Any) -> Any:
    n, groups, _, *image = x.shape
    kernels = k.reshape(-1, *k.shape[2:])
    found = lax.conv_general_dilated(
        x.reshape(n, -1, *image), kernels, (1, 1), "VALID", feature_group_count=groups
    )
    return found.reshape(n, groups, -1, *found.shape[2:]) + b[:, :, None, None]


_OWN: dict[str, Callable[..., Any]] = {
    "group_convolution": _group_convolution,
    "strided_convolution": partial(_convolution, stride=2),
    "masked_convolution": partial(_convolution, padding=1),
    "max_pooling": lambda x: lax.reduce_window(x, -np.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"),
}
assert set(_OWN) == WINDOWS


class Measured(TcPeer):
    """A function jitted anew for each row; it compiles in the first call."""

    functions = frozenset(FORMULAS)

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        jax.config.update("jax_cpu_enable_async_dispatch", False)

    def call(self, workload: Workload, operands: Operands) -> Call:
        """See `TcPeer`."""
        name, arguments = workload.function, list(operands.values())
        numbers = [each for each in arguments if isinstance(each, int)]
        own = partial(_OWN[name] if name in _OWN else partial(FORMULAS[name], jnp), *numbers)
        given = [jnp.asarray(each) for each in arguments if not isinstance(each, int)]
        jitted = jax.jit(own)
        return lambda: jax.block_until_ready(jitted(*given))
