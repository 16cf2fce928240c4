"""A dependency tree's cell: each child comes with the embedding of its label; GELU and layer normalization."""

import torch
from torch import nn

from cortex import ra


class LabelledTree(nn.Module):
    def __init__(self, labels, embed, hidden):
        super().__init__()
        self.label, self.x = nn.Embedding(labels, hidden), nn.Linear(embed, hidden)
        self.message, self.norm = nn.Linear(hidden, hidden), nn.LayerNorm(hidden)

    def forward(self, tree):
        total = self.x(torch.from_numpy(tree.x))
        for child in tree.children:
            label = self.label(torch.tensor(child.label))
            total = total + nn.functional.gelu(self.message(self(child)["h"] * label))
        return {"h": self.norm(total)}


def labelled_tree(labels, embed, hidden):
    N, K, H, label = ra.N, ra.K, hidden, ra.node_input("label", dtype="int32")
    M, h_ph = ra.input_tensor("label.weight", (labels, H)), ra.placeholder((N, H))
    own = ra.linear(ra.node_input("x", (embed,)), "x", out=H)
    scaled = ra.compute((N, K, H), lambda n, k, i: h_ph[k, i] * M[label[k], i])
    m = ra.linear(scaled, "message", out=H)
    total = ra.compute((N, H), lambda n, i: own[n, i] + ra.sum_children(n, lambda k: ra.gelu(m[n, k, i])))
    return ra.recursion_op(h_ph, ra.layer_norm(total, "norm"))
