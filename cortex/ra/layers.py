"""Layers over features: tensors made of several computes, as torch.nn writes them.

Each takes a tensor with a value for each node, (ra.N, ..., F), or for each child, (ra.N, ra.K, ..., F), and returns one
over the same nodes or children. `F` is the last extent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

# The elementwise functions of the table are found by name.
from cortex.ra import functions as _f
from cortex.ra.base import K, ModelTensor, N, S, own_name
from cortex.ra.declare import compute, input_tensor
from cortex.ra.expr import Expr
from cortex.ra.functions import max_, sum_
from cortex.ra.shapes import assigned_name, described
from cortex.ra.tensor import Compute, Indexed, InputTensor, NodeInput, Placeholder
from ragged.errors import Location, ModelError
from ragged.lang.types import epsilon_of


def linear(
    x: Indexed,
    W: InputTensor | str,
    b: InputTensor | None = None,
    name: str | None = None,
    *,
    out: int | None = None,
    bias: bool = True,
) -> Compute:
    """Return W x + b at each node, or for each child: (ra.N, ..., out), as `torch.nn.Linear` computes it.

    Args:
        x: a tensor (ra.N, ..., in), or (ra.N, ra.K, ..., in). A placeholder is read at each child, and gives
            (ra.N, ra.K, ..., out).
        W: (out, in), as torch stores it; or the name of a module, of which the parameters `<name>.weight` (out, in)
            and, with `bias`, `<name>.bias` (out,) are declared.
        b: (out,), or None; None where W is a name.
        name: the tensor's name in listings; guessed from the assignment otherwise.
        out: the extent of the result, where W is a name.
        bias: whether the module of that name has a bias.

    Raises:
        ModelError: the extents do not agree, or `out` is missing; or arguments are given that the others rule out.

    Example:
        >>> Wx = linear(x, "input", out=256)
    """
    at = Location.capture()
    extent = _features("linear", x, at)
    label = name or assigned_name(at, "linear") or (W if isinstance(W, str) else "linear")
    if isinstance(W, str):
        if out is None:
            raise ModelError(f"linear: '{W}' without out=", at=at, fix=f'ra.linear(x, "{W}", out=256)')
        _no_bias_beside("linear", W, b, at)
        b = input_tensor(f"{W}.bias", (out,)) if bias else None
        W = input_tensor(f"{W}.weight", (out, extent))
    elif out is not None or not bias:
        raise ModelError(
            f"linear: {'out=' if bias else 'bias='} with a tensor W",
            at=at,
            because="it is for a module's name: W has a row for each element of the result, and b is its bias or None",
            fix="ra.linear(x, W, b)",
        )
    if len(W.shape) != 2 or W.shape[1] != extent or (b is not None and b.shape != W.shape[:1]):
        shown = "" if b is None else f", b {described(b.shape)}"
        raise ModelError(
            f"linear: x has shape {described(x.shape)}, W {described(W.shape)}{shown}",
            at=at,
            because="W is (out, in), as in torch.nn.Linear: x ends with `in`, and b is (out,)",
            fix=f"W = ra.input_tensor(..., (out, {extent}))",
        )
    rows = int(str(W.shape[0]))

    def element(*index: Any) -> Expr:
        *place, i = index
        total = sum_(extent, lambda j: W[i, j] * x[(*_read_at(x, place), j)])
        return total if b is None else total + b[i]

    children = isinstance(x, Placeholder)
    shape = (x.shape[0], *((K,) if children else ()), *x.shape[1:-1], rows)
    return compute(shape, element, label)


def embedding(index: NodeInput, weight: str, shape: tuple[int, int], name: str | None = None) -> Compute:
    """Return row `index[n]` of the parameter `<weight>.weight`, of `shape` (rows, F), at each node n: (ra.N, F).

    Example:
        >>> x = embedding(ra.node_input("word", dtype="int32"), "emb", (vocab, 300))
    """
    table = input_tensor(f"{weight}.weight", shape)
    label = name or assigned_name(Location.capture(), "embedding") or "embedding"
    return compute((N, shape[1]), lambda n, i: table[index[n], i], label)


def concat(*parts: Indexed, name: str | None = None) -> Compute:
    """Return tensors (ra.N, F) side by side at each node, as `torch.cat` of them: (ra.N, the sum of their F).

    Tensors that are all over structures, (ra.S, F), give one over structures.

    A product with it is the sum of one with each part, `ra.sum(A, lambda j: W[i, j] * a[n, j])`: written so, the part
    that depends on no child can be computed before the recursion.

    Raises:
        ModelError: a part has another shape, or is a placeholder.
    """
    at = Location.capture()
    extents = [_features("concat", part, at) for part in parts if len(part.shape) == 2]
    if len(extents) != len(parts) or not parts:
        raise ModelError(
            "concat: not all parts are (ra.N, F)", at=at, fix="ra.concat(x, ra.concat_children(h_ph, 2))"
        )
    label = name or assigned_name(at, "concat") or "concat"

    def element(n: Any, i: Any) -> Expr:
        reads = [(extent, partial(_at_node, x, n)) for extent, x in zip(extents, parts, strict=True)]
        return side_by_side(reads, i)

    rows = S if all(part.shape[0] is S for part in parts) else N
    return compute((rows, sum(extents)), element, label)


def _at_node(x: Indexed, n: Any, j: Any) -> Expr:
    return x[n, j]


def side_by_side(parts: Sequence[tuple[int, Callable[[Expr], Expr]]], i: Expr) -> Expr:
    """Return element i of vectors one after another, each an extent and its elements."""
    begins = list(accumulate((extent for extent, _ in parts), initial=0))
    (_, read), begin = parts[-1], begins[len(parts) - 1]
    value = read(i - begin)
    for (_, read), begin, end in reversed(list(zip(parts[:-1], begins, begins[1:], strict=False))):
        value = _f.where(i < end, read(i - begin), value)
    return value


def gru_cell(x: Indexed, h: Indexed, name: str) -> Compute:
    """Return the state of `torch.nn.GRUCell` after x (ra.N, E) and the state h (ra.N, H): (ra.N, H).

    Its parameters are `<name>.weight_ih` (3 H, E), `<name>.weight_hh` (3 H, H), `<name>.bias_ih` and `<name>.bias_hh`
    (3 H,).
    """
    at = Location.capture()
    H = _features("gru_cell", h, at)
    sides = {"ih": (x, _features("gru_cell", x, at)), "hh": (h, H)}
    Wx, Uh = (
        linear(
            value,
            input_tensor(f"{name}.weight_{side}", (3 * H, extent)),
            input_tensor(f"{name}.bias_{side}", (3 * H,)),
            f"{name}_{side}",
        )
        for side, (value, extent) in sides.items()
    )
    sigmoid, tanh = _f.sigmoid, _f.tanh
    r, z = (
        compute((N, H), lambda n, i, s=s: sigmoid(Wx[n, i + s] + Uh[n, i + s]), f"{name}_{gate}")
        for gate, s in (("r", 0), ("z", H))
    )
    g = compute((N, H), lambda n, i: tanh(Wx[n, i + 2 * H] + r[n, i] * Uh[n, i + 2 * H]), f"{name}_g")
    return compute((N, H), lambda n, i: z[n, i] * h[n, i] + (1 - z[n, i]) * g[n, i], name)


def softmax(x: Indexed, name: str | None = None) -> Compute:
    """Return the softmax over the last extent: exp(x - m) / sum(exp(x - m)), where m is the largest element.

    A softmax over a node's children is `ra.softmax_children`.
    """
    at = Location.capture()
    extent = _features("softmax", x, at)
    label = name or assigned_name(at, "softmax") or "softmax"
    exp: Callable[[Any], Expr] = _f.exp
    top = _over(x, lambda *p: max_(extent, lambda j: x[(*p, j)]), f"{label}_max")
    e = _each(x, lambda *p: exp(x[p] - top[p[:-1]]), f"{label}_exp")
    total = _over(x, lambda *p: sum_(extent, lambda j: e[(*p, j)]), f"{label}_sum")
    return _each(x, lambda *p: e[p] / total[p[:-1]], label)


def log_softmax(x: Indexed, name: str | None = None) -> Compute:
    """Return the logarithm of `softmax(x)`, x - m - log(sum(exp(x - m))), finite where x is."""
    at = Location.capture()
    extent = _features("log_softmax", x, at)
    label = name or assigned_name(at, "log_softmax") or "log_softmax"
    top = _over(x, lambda *p: max_(extent, lambda j: x[(*p, j)]), f"{label}_max")
    total = _over(x, lambda *p: _f.log(sum_(extent, lambda j: _f.exp(x[(*p, j)] - top[p]))), f"{label}_log")
    return _each(x, lambda *p: x[p] - top[p[:-1]] - total[p[:-1]], label)


def layer_norm(
    x: Indexed,
    weight: InputTensor | str | None = None,
    bias: InputTensor | None = None,
    eps: float = 1e-5,
    name: str | None = None,
) -> Compute:
    """Return (x - mean) / sqrt(variance + eps) * weight + bias over the last extent, as `torch.nn.LayerNorm`.

    Args:
        x: a tensor (ra.N, ..., F), or (ra.N, ra.K, ..., F).
        weight: (F,), or None for ones; or the name of a module, then `<name>.weight` and `<name>.bias` are declared.
        bias: (F,), or None for zeros.
        eps: what is added to the variance, which is divided by F.
        name: the tensor's name in listings; guessed from the assignment otherwise.

    Raises:
        ModelError: the extents do not agree, a bias is given beside a module's name, or `eps` is negative or no number.
    """
    at = Location.capture()
    extent = _features("layer_norm", x, at)
    epsilon_of(eps, "layer_norm: eps")
    if isinstance(weight, str):
        _no_bias_beside("layer_norm", weight, bias, at)
        weight, bias = (input_tensor(f"{weight}.{part}", (extent,)) for part in ("weight", "bias"))
    for what, tensor in (("weight", weight), ("bias", bias)):
        if tensor is not None and tensor.shape != (extent,):
            raise ModelError(
                f"layer_norm: {what} has shape {described(tensor.shape)}, x {described(x.shape)}",
                at=at,
                fix=f"{what} = ra.input_tensor(..., ({extent},))",
            )
    label = name or assigned_name(at, "layer_norm") or "layer_norm"
    mean = _over(x, lambda *p: sum_(extent, lambda j: x[(*p, j)]) / extent, f"{label}_mean")
    centred = _each(x, lambda *p: x[p] - mean[p[:-1]], f"{label}_centred")
    scale = _over(
        x,
        lambda *p: _f.rsqrt(sum_(extent, lambda j: centred[(*p, j)] * centred[(*p, j)]) / extent + eps),
        f"{label}_scale",
    )

    def element(*p: Any) -> Expr:
        value = centred[p] * scale[p[:-1]]
        if weight is not None:
            value = value * weight[p[-1]]
        return value if bias is None else value + bias[p[-1]]

    return _each(x, element, label)


def _no_bias_beside(what: str, module: str, bias: InputTensor | None, at: Location | None) -> None:
    """Refuse a bias that is given beside the name of a module."""
    if bias is not None:
        raise ModelError(
            f"{what}: '{module}' and a bias beside it",
            at=at,
            because=f"the bias of the module of that name is '{module}.bias', which is declared here",
            fix="leave the bias out, or give the weight as a tensor too",
        )


def _each(x: Indexed, function: Callable[..., Expr], name: str) -> Compute:
    return compute(x.shape, function, name)


def _over(x: Indexed, function: Callable[..., Expr], name: str) -> Compute:
    """Return a tensor without the last extent of `x`."""
    return compute(x.shape[:-1], function, name)


def _read_at(x: Indexed, place: list[Any]) -> list[Any]:
    """Return the indices of `x` before its last: a placeholder is read at the child, not at the node."""
    return place[1:] if isinstance(x, Placeholder) else place


def _features(what: str, x: object, at: Location | None) -> int:
    """Return the last extent of `x`; `ModelError` if it is no tensor over nodes with one."""
    if isinstance(x, Indexed) and not isinstance(x, InputTensor):
        last = x.shape[-1]
        if isinstance(last, int) and (what == "linear" or not isinstance(x, Placeholder)):
            return last
    shape = f"has shape {described(x.shape)}" if isinstance(x, ModelTensor) else f"is {x!r}"
    shown = f"'{own_name(x)}' {shape}" if isinstance(x, ModelTensor) else f"it {shape}"
    raise ModelError(
        f"{what}: {shown}",
        at=at,
        because="it is computed over the last extent of a tensor at nodes or children",
        fix="copy what children return to a tensor of its own: ra.compute((ra.N, ra.K, H), lambda n, k, i: h_ph[k, i])"
        if isinstance(x, Placeholder)
        else f"{what}(x) of a tensor x (ra.N, ..., F)",
    )
