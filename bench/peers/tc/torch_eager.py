"""PyTorch, as it comes and compiled: convolutions are oneDNN's, products MKL's. Gradients are its backward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from bench.peers.tc.peer import Call, TcPeer
from bench.tc.workloads import SUFFIX, Array, Operands, Workload


def _kronecker(w0: Tensor, w1: Tensor, w2: Tensor, x: Tensor) -> Tensor:
    y1 = torch.matmul(w1, F.linear(x, w2))
    m, n0, d1, d2 = y1.shape
    return torch.matmul(w0, y1.view(m, n0, d1 * d2)).view(m, -1, d1, d2)


def _group_convolution(x: Tensor, k: Tensor, b: Tensor) -> Tensor:
    groups = x.shape[1]
    found = F.conv2d(x.flatten(1, 2), k.flatten(0, 1), b.flatten(), groups=groups)
    return found.unflatten(1, (groups, -1))


def _lookup(t: Tensor, i: Tensor) -> Tensor:
    return F.embedding_bag(i, t, mode="sum")


def _mlp3(
    x: Tensor, w2: Tensor, b2: Tensor, w3: Tensor, b3: Tensor, w4: Tensor, b4: Tensor
) -> tuple[Tensor, ...]:
    o2 = F.relu(F.linear(x, w2, b2))
    o3 = F.relu(F.linear(o2, w3, b3))
    return o2, o3, F.relu(F.linear(o3, w4, b4))


def _wavenet(
    d: int,
    x: Tensor,
    wf: Tensor,
    bf: Tensor,
    wg: Tensor,
    bg: Tensor,
    wr: Tensor,
    br: Tensor,
    ws: Tensor,
    bs: Tensor,
) -> tuple[Tensor, ...]:
    padded = F.pad(x, (d, 0))
    z = torch.tanh(F.conv1d(padded, wf, bf, dilation=d)) * torch.sigmoid(F.conv1d(padded, wg, bg, dilation=d))
    return x + F.conv1d(z, wr[..., None], br), F.conv1d(z, ws[..., None], bs)


def _moments(x: Tensor) -> tuple[Tensor, ...]:
    var, mean = torch.var_mean(x, 1, correction=0)
    return mean, var


def _group_norm(x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    groups = x.shape[1]
    return F.group_norm(x.flatten(1, 2), groups, gamma.flatten(), beta.flatten()).view_as(x)


FORMULAS: dict[str, Callable[..., Any]] = {
    "tmm": F.linear,
    "tbmm": lambda x, y: torch.bmm(x, y.transpose(1, 2)),
    "tensordot": lambda x, y: torch.einsum("nachw,ncbhw->nabhw", x, y),
    "kronecker": _kronecker,
    "group_convolution": _group_convolution,
    "strided_convolution": lambda x, k: F.conv2d(x, k, stride=2),
    "masked_convolution": lambda x, k: F.conv2d(x, k, padding=1),
    "max_pooling": lambda x: F.max_pool2d(x, 2),
    "lookup": _lookup,
    "two_lookups": lambda t, i, u, j: (_lookup(t, i), _lookup(u, j)),
    "mlp1": lambda x, w, b: F.relu(F.linear(x, w, b)),
    "c3": F.linear,
    "mlp3": _mlp3,
    "wavenet_block": _wavenet,
    "moments": _moments,
    "layer_norm": lambda x, g, b: F.layer_norm(x, x.shape[1:], g, b),
    "group_norm": _group_norm,
    "softmax": lambda x: torch.softmax(x, 1),
    "distances": lambda x, y: torch.cdist(x, y).square(),
    "additive_scores": lambda x, y, v: torch.tanh(x[:, :, None] + y[:, None]) @ v,
}


def backward(formula: Callable[..., Any], given: Sequence[Any], rest: Sequence[Tensor]) -> Call:
    """Return the backward pass by all floats of those `given`, after the forward pass.

    `rest` are results that gradients are given, which it has of its own, and then those of the results.
    """
    tensors = [
        each.requires_grad_() for each in given if isinstance(each, Tensor) and each.is_floating_point()
    ]
    results = formula(*given)
    results = results if isinstance(results, tuple) else (results,)
    return partial(torch.autograd.grad, results, tensors, rest[-len(results) :], retain_graph=True)


class Measured(TcPeer):
    """Eager calls."""

    functions = frozenset({*FORMULAS, *(f"{name}{SUFFIX}" for name in FORMULAS)})

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        torch.set_num_threads(threads)

    def call(self, workload: Workload, operands: Operands) -> Call:
        """See `TcPeer`."""
        arrays = operands.values()
        given = [each if isinstance(each, int) else torch.from_numpy(each) for each in arrays]
        formula = self.formula(workload)
        if workload.differentiated is not None:
            return backward(formula, given[: workload.arguments], given[workload.arguments :])

        def run() -> object:
            with torch.inference_mode():
                return formula(*given)

        return run

    def formula(self, workload: Workload) -> Callable[..., Any]:
        """Return the function of tensors, which a gradient is of."""
        return FORMULAS[workload.differentiated or workload.function]

    def arrays(self, result: Any) -> list[Array]:
        """See `TcPeer`."""
        return [each.numpy() for each in (result if isinstance(result, tuple) else (result,))]


class Compiled(Measured):
    """`torch.compile` for the sizes of a row: it compiles in the first call."""

    def formula(self, workload: Workload) -> Callable[..., Any]:
        """See `Measured`."""
        torch.compiler.reset()  # or it compiles a function for all sizes when it meets other ones
        found: Callable[..., Any] = torch.compile(super().formula(workload))
        return found
