"""Weights of PyTorch modules, each written node by node as its authors lay it out."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from cortex import Node, models, ra
from cortex.models import from_torch
from ragged.errors import ModelError, UserError
from tests.models.structures import Drawn

H, E, V = 4, 3, 7
CHILDREN = [[], [], [], [0, 1, 2], [], [3, 4], [5]]
WORDS = [1, 2, 3, 6, 0, None, 5]


class Fused(nn.Module):
    """The PyTorch ports of the authors' code: two biases a gate, the first three gates in one layer."""

    def __init__(self):
        super().__init__()
        self.ioux, self.iouh = nn.Linear(E, 3 * H), nn.Linear(H, 3 * H)
        self.fx, self.fh = nn.Linear(E, H), nn.Linear(H, H)

    def node(self, x, below):
        hs = sum((h for h, _ in below), torch.zeros(H))
        i, o, u = torch.split(self.ioux(x) + self.iouh(hs), H)
        c = torch.sigmoid(i) * torch.tanh(u)
        for h_k, c_k in below:
            c = c + torch.sigmoid(self.fx(x) + self.fh(h_k)) * c_k
        return torch.sigmoid(o) * torch.tanh(c), c


class Separate(nn.Module):
    """A layer for each gate and side, as `ix` and `ih`, with a bias on one side."""

    def __init__(self):
        super().__init__()
        for gate in "iouf":
            setattr(self, f"{gate}x", nn.Linear(E, H))
            setattr(self, f"{gate}h", nn.Linear(H, H, bias=False))

    def node(self, x, below):
        hs = sum((h for h, _ in below), torch.zeros(H))
        i, o = torch.sigmoid(self.ix(x) + self.ih(hs)), torch.sigmoid(self.ox(x) + self.oh(hs))
        c = i * torch.tanh(self.ux(x) + self.uh(hs))
        for h_k, c_k in below:
            c = c + torch.sigmoid(self.fx(x) + self.fh(h_k)) * c_k
        return o * torch.tanh(c), c


class Matrices(nn.Module):
    """A matrix for each gate and side and a vector for each gate: the library's names, not as layers."""

    def __init__(self):
        super().__init__()
        for gate in "iouf":
            self.register_parameter(f"W_{gate}", nn.Parameter(torch.randn(H, E)))
            self.register_parameter(f"U_{gate}", nn.Parameter(torch.randn(H, H)))
            self.register_parameter(f"b_{gate}", nn.Parameter(torch.randn(H)))

    def node(self, x, below):
        hs = sum((h for h, _ in below), torch.zeros(H))
        i = torch.sigmoid(self.W_i @ x + self.U_i @ hs + self.b_i)
        o = torch.sigmoid(self.W_o @ x + self.U_o @ hs + self.b_o)
        c = i * torch.tanh(self.W_u @ x + self.U_u @ hs + self.b_u)
        for h_k, c_k in below:
            c = c + torch.sigmoid(self.W_f @ x + self.U_f @ h_k + self.b_f) * c_k
        return o * torch.tanh(c), c


class Dgl(nn.Module):
    """DGL's cell: forget gates do not see the input, and the bias of the others is a row."""

    def __init__(self):
        super().__init__()
        self.W_iou, self.U_iou = nn.Linear(E, 3 * H, bias=False), nn.Linear(H, 3 * H, bias=False)
        self.b_iou = nn.Parameter(torch.randn(1, 3 * H))
        self.U_f = nn.Linear(H, H)

    def node(self, x, below):
        hs = sum((h for h, _ in below), torch.zeros(H))
        i, o, u = torch.chunk(self.W_iou(x) + self.U_iou(hs) + self.b_iou[0], 3)
        c = torch.sigmoid(i) * torch.tanh(u)
        for h_k, c_k in below:
            c = c + torch.sigmoid(self.U_f(h_k)) * c_k
        return torch.sigmoid(o) * torch.tanh(c), c


class Whole(nn.Module):
    """An embedding and a cell under the names that a training script gave them."""

    def __init__(self, cell, embedding="emb", name="childsumtreelstm"):
        super().__init__()
        self.names = embedding, name
        setattr(self, embedding, nn.Embedding(V, E))
        setattr(self, name, cell)

    def forward(self):
        embedding, cell = (getattr(self, name) for name in self.names)
        rows = []
        for below, word in zip(CHILDREN, WORDS, strict=True):
            x = torch.zeros(E) if word is None else embedding(torch.tensor(word))
            rows.append(cell.node(x, [rows[k] for k in below]))
        return [torch.stack(part).detach().numpy() for part in zip(*rows, strict=True)]


@pytest.fixture
def model():
    return models.tree_lstm(hidden=H, embed=E, vocab=V)


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


@pytest.mark.parametrize(
    ("cell", "layout"), [(Fused, "fused"), (Separate, "separate"), (Matrices, "separate"), (Dgl, "dgl")]
)
@pytest.mark.parametrize("embedding", ["emb", "embedding"])
@pytest.mark.parametrize("asked", ["auto", "named"])
def test_a_module_written_node_by_node_agrees(model, cell, layout, embedding, asked):
    module = Whole(cell(), embedding)
    params = from_torch(module.state_dict(), model, layout=layout if asked == "named" else "auto")
    assert list(params) == list(model.inputs)
    assert all(a.dtype == np.float32 and a.flags.c_contiguous for a in params.values())
    out = ra.evaluate(model, params, Drawn(CHILDREN, {"word": WORDS}).root)
    h, c = module()
    np.testing.assert_allclose(out["h"], h, atol=1e-6)
    np.testing.assert_allclose(out["c"], c, atol=1e-6)


def test_a_model_without_an_embedding():
    vector = models.tree_lstm(hidden=H, embed=E, input="vector")
    cell = Fused()
    params = from_torch(cell.state_dict(), vector)
    np.testing.assert_array_equal(params["b_f"], (cell.fx.bias + cell.fh.bias).detach().numpy())
    np.testing.assert_array_equal(params["U_o"], cell.iouh.weight[H : 2 * H].detach().numpy())


def test_an_embedding_kept_elsewhere_is_left_to_the_caller(model):
    assert "emb" not in from_torch(Separate().state_dict(), model)


def test_the_result_is_the_callers_own(model):
    module = Whole(Matrices())
    params = from_torch(module.state_dict(), model)
    before = module.emb.weight.detach().numpy().copy()
    params["emb"][:] = 0
    params["U_i"][:] = 0
    np.testing.assert_array_equal(module.emb.weight.detach().numpy(), before)
    assert module.childsumtreelstm.U_i.abs().min() > 0


def test_other_precisions_are_read_as_float32(model):
    state = Whole(Fused()).double().state_dict()
    halves = {name: tensor.bfloat16() for name, tensor in state.items()}
    for given in (state, halves, {name: tensor.numpy() for name, tensor in state.items()}):
        params = from_torch(given, model)
        assert {array.dtype.name for array in params.values()} == {"float32"}
        np.testing.assert_allclose(params["emb"], state["emb.weight"].numpy(), atol=1e-2)


def refusal(state, model, layout="auto"):
    with pytest.raises(ModelError) as caught:
        from_torch(state, model, layout)
    assert caught.value.at.file == __file__
    return str(caught.value).replace(str(caught.value.at), "HERE")


def test_every_entry_that_does_not_fit_is_listed(model):
    state = dict(Whole(Fused()).state_dict())
    del state["childsumtreelstm.fh.weight"]
    state["linears.weight"] = torch.zeros(5, H)
    state["childsumtreelstm.fx.weight"] = torch.zeros(E, H)
    state["other.iouh.weight"] = torch.zeros(3 * H, H)
    assert refusal(state, model) == (
        "from_torch: the state does not fit the model (layout 'fused')\n"
        "  at HERE\n"
        "  because: 'childsumtreelstm.fx.weight' has shape (3, 4), not (4, 3); "
        "'linears.weight' is of no use to the model; "
        "'childsumtreelstm.iouh.weight' and 'other.iouh.weight' each give 'U_i'; "
        "'childsumtreelstm.iouh.weight' and 'other.iouh.weight' each give 'U_o'; "
        "'childsumtreelstm.iouh.weight' and 'other.iouh.weight' each give 'U_u'; "
        "nothing gives 'W_f' (4, 3); nothing gives 'U_f' (4, 4)\n"
        "  fix: pass the entries of the cell alone, or name the layout"
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([[1.0], [2.0, 3.0]], "parameter 'fh.weight' cannot be read as an array: it is a list"),
        (
            torch.zeros(H, H, device="meta"),
            "parameter 'fh.weight' cannot be read as an array: it is a Tensor",
        ),
        (np.ma.masked_array(np.zeros((H, H))), "parameter 'fh.weight' is a masked array of NumPy"),
        (np.zeros((H, H), np.complex64), "'fh.weight' is of dtype complex64, not of real numbers"),
        ("weights", "'fh.weight' is of dtype <U7, not of real numbers"),
    ],
    ids=["uneven", "meta", "masked", "complex", "text"],
)
def test_an_entry_that_holds_no_numbers(model, value, said):
    assert said in refusal({**Fused().state_dict(), "fh.weight": value}, model)


def test_two_layouts_at_once(model):
    state = {**Fused().state_dict(), **Dgl().state_dict()}
    assert refusal(state, model) == (
        "from_torch: the state is of two layouts\n"
        "  at HERE\n"
        "  because: it has both 'iouh.weight' and 'U_iou.weight'\n"
        "  fix: pass the entries of one module alone"
    )


def test_an_unknown_layout(model):
    assert refusal({}, model, "torchscript") == (
        'from_torch: layout=\'torchscript\' is unknown\n  at HERE\n  fix: "auto", "fused", "dgl", "lstm", "separate"'
    )


def test_a_state_for_no_model():
    with pytest.raises(UserError, match="from_torch: dict is no model"):
        from_torch({}, {})


def test_another_model():
    assert refusal({}, models.tree_sum(H, V)) == (
        "from_torch: the model has not the parameters of a known cell\n"
        "  at HERE\n"
        "  because: they are emb\n"
        "  fix: models.tree_lstm, nary_tree_lstm, lstm, tree_gru, gru, gru_reset_after, tree_rnn, dag_rnn; else name "
        "each parameter"
    )


def test_a_binary_cell_is_not_a_child_sum_cell(model):
    state = dict(Dgl().state_dict())
    state["U_f.weight"], state["U_f.bias"] = torch.zeros(2 * H, 2 * H), torch.zeros(2 * H)
    state["U_iou.weight"] = torch.zeros(3 * H, 2 * H)
    assert "'U_iou.weight' has shape (12, 8), not (12, 4)" in refusal(state, model)


def test_a_classifier_on_top_is_left_out_and_said(model, caplog):
    state = dict(Whole(Fused()).state_dict())
    want = from_torch(state, model)
    assert not caplog.messages
    state |= {"linear.weight": torch.zeros(5, H), "head.0.bias": torch.zeros(5)}
    found = from_torch(state, model)
    assert caplog.messages == ["from_torch: left out, as of a classifier: linear.weight, head.0.bias"]
    assert all((found[name] == array).all() for name, array in want.items())


def test_tensors_in_bfloat16(model):
    state = {name: tensor.bfloat16() for name, tensor in Whole(Fused()).state_dict().items()}
    rounded = {name: tensor.float() for name, tensor in state.items()}
    want = from_torch(rounded, model)
    assert all((array == want[name]).all() for name, array in from_torch(state, model).items())


class DglNary(nn.Module):
    """DGL's N-ary cell: the children's states side by side, and a bias for each forget gate."""

    def __init__(self, arity=2):
        super().__init__()
        self.arity = arity
        self.W_iou, self.U_iou = nn.Linear(E, 3 * H, bias=False), nn.Linear(arity * H, 3 * H, bias=False)
        self.b_iou = nn.Parameter(torch.randn(1, 3 * H))
        self.U_f = nn.Linear(arity * H, arity * H)

    def node(self, x, below):
        if not below:
            iou, c = self.W_iou(x), torch.zeros(H)
        else:
            h = torch.cat([h for h, _ in below])
            iou, f = self.U_iou(h), torch.sigmoid(self.U_f(h)).view(self.arity, H)
            c = (f * torch.stack([c for _, c in below])).sum(0)
        i, o, u = torch.chunk(iou + self.b_iou[0], 3)
        c = torch.sigmoid(i) * torch.tanh(u) + c
        return torch.sigmoid(o) * torch.tanh(c), c


@pytest.mark.parametrize("arity", [2, 3])
def test_dgls_nary_cell_agrees(arity):
    module = Whole(DglNary(arity), "embedding", "cell")
    model = models.nary_tree_lstm(hidden=H, embed=E, vocab=V, arity=arity, forget_biases=True)
    params = from_torch(module.state_dict() | {"linear.weight": torch.zeros(5, H)}, model)
    assert list(params) == list(model.inputs)
    leaves = [module.cell.node(module.embedding(torch.tensor(word)), []) for word in range(arity)]
    inner = module.cell.node(torch.zeros(E), leaves)
    root = module.cell.node(torch.zeros(E), [inner, *leaves[1:]])
    tree = Node([Node([Node(word=at) for at in range(arity)]), *(Node(word=at) for at in range(1, arity))])
    out = ra.evaluate(model, params, tree)
    np.testing.assert_allclose(out["h"][-1], root[0].detach().numpy(), atol=1e-6)
    np.testing.assert_allclose(out["c"][-1], root[1].detach().numpy(), atol=1e-6)


def test_biases_of_dgls_forget_gates_need_a_model_with_them():
    model = models.nary_tree_lstm(hidden=H, embed=E, input="vector")
    assert (
        "'U_f.bias' has shape (8,), not (4,); models.nary_tree_lstm(forget_biases=True) has one for each child"
        in refusal(DglNary().state_dict(), model)
    )


@pytest.mark.parametrize("more", [{"num_layers": 2}, {"bidirectional": True}])
@pytest.mark.parametrize("name", ["decoder", "output", "rnn"])
def test_what_stands_beside_a_cell_is_no_classifier(name, more):
    """Whatever the module that has the cell is called."""
    module = torch.nn.Module()
    setattr(module, name, torch.nn.LSTM(4, 5, **more))
    with pytest.raises(ModelError, match=rf"'{name}\.weight_ih_l\w+' is of no use to the model"):
        from_torch(module.state_dict(), models.lstm(5, 4, input="vector"))
