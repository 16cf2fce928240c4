"""Binary TreeLSTM in DGL's layout: one matrix for both children's states side by side; dropout is for training."""

import torch
from torch import nn

from cortex import ra


class BinaryTreeLSTM(nn.Module):
    def __init__(self, embed, hidden):
        super().__init__()
        self.hidden = hidden
        self.W_iou = nn.Linear(embed, 3 * hidden, bias=False)
        self.U_iou = nn.Linear(2 * hidden, 3 * hidden, bias=False)
        self.b_iou = nn.Parameter(torch.randn(3 * hidden))
        self.U_f = nn.Linear(2 * hidden, 2 * hidden)
        self.dropout = nn.Dropout(0.5)

    def forward(self, tree):
        none = {"h": torch.zeros(self.hidden), "c": torch.zeros(self.hidden)}
        below = [self(child) for child in tree.children] or [none, none]
        h = torch.cat([each["h"] for each in below])
        f = torch.sigmoid(self.U_f(h)).chunk(2)
        i, o, u = (self.W_iou(self.dropout(torch.from_numpy(tree.x))) + self.U_iou(h) + self.b_iou).chunk(3)
        c = torch.sigmoid(i) * torch.tanh(u) + f[0] * below[0]["c"] + f[1] * below[1]["c"]
        return {"h": torch.sigmoid(o) * torch.tanh(c), "c": c}


def binary_tree_lstm(embed, hidden):
    N, H = ra.N, hidden
    h_ph, c_ph = (ra.placeholder((N, H), default=0.0) for _ in "hc")
    below, b = ra.concat_children(h_ph, 2), ra.input_tensor("b_iou", (3 * H,))
    Wx = ra.linear(ra.node_input("x", (embed,)), "W_iou", out=3 * H, bias=False)
    Uh, Fh = ra.linear(below, "U_iou", out=3 * H, bias=False), ra.linear(below, "U_f", out=2 * H)
    z = ra.compute((N, 3 * H), lambda n, i: Wx[n, i] + Uh[n, i] + b[i])
    f = ra.compute((N, 2 * H), lambda n, i: ra.sigmoid(Fh[n, i]))
    fc = ra.compute((N, H), lambda n, i: f[n, i] * c_ph[n.left, i] + f[n, i + H] * c_ph[n.right, i])
    c = ra.compute((N, H), lambda n, i: ra.sigmoid(z[n, i]) * ra.tanh(z[n, i + 2 * H]) + fc[n, i])
    h = ra.compute((N, H), lambda n, i: ra.sigmoid(z[n, i + H]) * ra.tanh(c[n, i]))
    return ra.recursion_op({"h": (h_ph, h), "c": (c_ph, c)}, structure=ra.Tree(max_children=2))
