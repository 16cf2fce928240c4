"""Functions as operators of PyTorch: shapes, gradients, its compiler and its export."""

import numpy as np
import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.library import opcheck

from ragged import tc

TEXTS = tc.define("""
def conv(float(N,H) x, float(K) w) -> (y) { y(n,j) +=! x(n,2 * j + k) * w(k) }
def layer(float(B,M) x, float(N,M) W, float(N) b) -> (y) {
  y(i,n) = b(n) y(i,n) += x(i,m) * W(n,m) y(i,n) = fmax(y(i,n), 0)
}
def several(int s, float(N) x, int32(N) at, float a) -> (y, top) {
  y(i) = a * x(i + s) + x(at(i)) where i in 0:min(N - s, 4)
  top max=! at(i)
}
def largest(float(N) x) -> (at) { m max=! x(i) at min=! x(i) == m ? i : N }
def gemm(float(N,N) A) -> (C) { C(i,j) += A(i,k) * A(k,j) }
def numbers(int n) -> (y) { y(i) = float(i) where i in 0:n }
def broadcast(float(N) x, float(N,M) y) -> (z) { z(i,j) = x(i) * y(i,j) }
""")


def operator(name, **options):
    """Return an operator that is compiled as written."""
    return TEXTS[name].compile(schedule=None, **options).torch()


def floats(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape))).requires_grad_()


LAYER = operator("layer")
X, W, b = floats(4, 3), floats(5, 3), floats(5)


def loss(x, weights, bias):
    return (LAYER(x, weights, bias) ** 2).sum()


def test_opcheck():
    opcheck(LAYER, (X, W, b))
    opcheck(operator("conv"), (floats(2, 9), floats(3)))
    at = torch.tensor([0, 2, 4, 1, 0, 3], dtype=torch.int32)
    opcheck(operator("several"), (1, floats(6), at, floats()))


def test_gradients_are_those_of_torch():
    found = torch.autograd.grad(loss(X, W, b), (X, W, b))
    wanted = torch.autograd.grad((torch.relu(X @ W.T + b) ** 2).sum(), (X, W, b))
    torch.testing.assert_close(found, wanted)
    x, weights = floats(2, 9), floats(3)
    (only,) = torch.autograd.grad(operator("conv")(x.detach(), weights).sum(), (weights,))
    torch.testing.assert_close(only, x.detach().unfold(1, 3, 2).sum((0, 1)))


def test_tensors_of_bfloat16():
    f = tc.define("def f(bfloat16(M,K) a, bfloat16(K,N) b) -> (c) { c(m,n) +=! a(m,k) * b(k,n) }").f
    a, b = (torch.randn(shape).bfloat16() for shape in ((5, 7), (7, 9)))
    wanted = (a.float() @ b.float()).bfloat16()
    for _ in range(2):  # the second call is of known shapes
        torch.testing.assert_close(f(a, b), wanted)
    operator, x = f.torch(), a.clone().requires_grad_()
    torch.library.opcheck(operator, (x, b))
    operator(x, b).float().sum().backward()
    torch.testing.assert_close(x.grad, b.float().sum(1).bfloat16().expand(5, 7))


def test_second_derivatives():
    z = operator("broadcast")
    x, y = floats(3), floats(3, 2)
    (first,) = torch.autograd.grad((z(x, y) ** 2).sum(), (x,), create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), (y,))
    torch.testing.assert_close(second, 4 * x[:, None].detach() * y.detach())


def test_third_derivatives_and_names_that_are_taken():
    f = tc.define("def f(double(N) x, double(N) d_y) -> (y) { y(i) = exp(x(i)) * d_y(i) }").f.torch()
    x, z = (torch.rand(3, dtype=torch.float64, requires_grad=True) for _ in range(2))
    found = f(x, z)
    for _ in range(3):
        (found,) = torch.autograd.grad(found.sum(), (x,), create_graph=True)
    torch.testing.assert_close(found, torch.exp(x) * z)


def test_integers_scalars_and_several_outputs():
    x, a = floats(6), floats()
    at = torch.tensor([0, 2, 4, 1, 0, 3], dtype=torch.int32)
    y, top = operator("several")(2, x, at, a)
    torch.testing.assert_close(y, a * x[2:] + x[at[:4].long()])
    assert top == 4 and top.dtype == torch.int32
    assert operator("largest")(x) == x.argmax()
    y.sum().backward()
    torch.testing.assert_close(a.grad, x[2:].sum().detach())


def test_arguments_that_are_bound():
    bound = operator("layer", parameters={"W": W.detach(), "b": b.detach()})
    torch.testing.assert_close(bound(X), LAYER(X, W, b))
    (found,) = torch.autograd.grad((bound(X) ** 2).sum(), (X,))
    torch.testing.assert_close(found, torch.autograd.grad(loss(X, W, b), (X,))[0])


@pytest.mark.parametrize(
    "backend", ["eager", "aot_eager", pytest.param("inductor", marks=pytest.mark.thorough)]
)
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # inductor's own
def test_compiled(backend):
    compiled = torch.compile(loss, backend=backend, dynamic=True, fullgraph=True)
    for rows in (4, 6):
        x = floats(rows, 3)
        found = torch.autograd.grad(compiled(x, W, b), (x, W, b))
        torch.testing.assert_close(found, torch.autograd.grad(loss(x, W, b), (x, W, b)))


def test_exported():
    class Model(torch.nn.Module):
        def forward(self, x, w):
            return operator("conv")(x, w) + 1

    sizes = {"x": {0: torch.export.Dim("N"), 1: torch.export.Dim("H", min=5)}, "w": None}
    exported = torch.export.export(Model(), (floats(2, 9), floats(3)), dynamic_shapes=sizes)
    (node,) = (node for node in exported.graph.nodes if "ragged_tc" in str(node.target))
    assert not any(isinstance(extent, int) for extent in node.meta["val"].shape)  # symbols, not 2 and 4
    x, w = floats(3, 12), floats(3)
    torch.testing.assert_close(exported.module()(x, w), x.unfold(1, 3, 2) @ w + 1)


def test_one_operator_for_one_text():
    again = tc.define(str(TEXTS.layer))
    assert again.layer.torch() is TEXTS.layer.torch() is not LAYER


def test_names_of_operators_follow_from_their_options_alone():
    """PyTorch's compiler keeps code with names on disk: another process, with other operators before, runs it."""
    assert operator("layer") is LAYER
    bound = [operator("layer", parameters={"W": np.full((4, 3), k, np.float32)}) for k in (1, 2, 1)]
    assert bound[0] is bound[2] and bound[0] is not bound[1] and LAYER not in bound


def test_sizes_that_are_too_small_for_any_element():
    conv = operator("conv")
    x, w = torch.zeros(2, 0, requires_grad=True), torch.ones(3, requires_grad=True)
    y = conv(x, w)
    y.sum().backward()
    assert y.shape == (2, 0) and x.grad.shape == (2, 0) and w.grad.tolist() == [0, 0, 0]
    with FakeTensorMode():
        assert conv(torch.zeros(2, 0), torch.ones(3)).shape == (2, 0)


def test_extents_that_differ():
    with pytest.raises(RuntimeError, match="'W' in dimension 1"):
        torch.compile(loss, backend="eager", fullgraph=True)(X, floats(5, 4), b)
    with pytest.raises(tc.TcError, match="'W' with 4 in dimension 1"):
        loss(X, floats(5, 4), b)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.ones(2, 3, device="meta"), "is given 'x' with 2 dimensions, and it has 1"),
        (torch.ones(3, dtype=torch.float64, device="meta"), "is given 'x' of torch.float64, not float32"),
    ],
    ids=["rank", "dtype"],
)
def test_tensors_without_memory_are_checked(x, message):
    operator = tc.define("def f(float(N) x) -> (y) { y(i) = 2 * x(i) }").f.torch()
    assert operator(torch.ones(3, device="meta")).shape == (3,)
    with pytest.raises(tc.TcError, match=message):
        operator(x)


def test_a_size_that_a_later_parameter_declares():
    text = "def f(float(T,2*D) x, float(T,D) c) -> (y) { y(t,d) = x(t,2*d) * c(t,d) }"
    f = tc.define(text).f.torch()
    assert f(torch.empty(3, 8, device="meta"), torch.empty(3, 4, device="meta")).shape == (3, 4)
    torch.library.opcheck(f, (floats(3, 8), floats(3, 4)))
    with pytest.raises(RuntimeError, match="'x' in dimension 1"):
        f(torch.empty(3, 9, device="meta"), torch.empty(3, 4, device="meta"))


@pytest.mark.parametrize(
    ("name", "message"), [("gemm", "'C' is read before it is written"), ("numbers", "it takes no tensor")]
)
def test_refusals(name, message):
    with pytest.raises(tc.TcError, match=f"is no operator of PyTorch: {message}"):
        TEXTS[name].torch()
