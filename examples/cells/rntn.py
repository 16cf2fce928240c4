"""Recursive neural tensor network (Socher et al. 2013): a bilinear form of both children for each feature."""

import torch
from torch import nn

from cortex import ra


class RNTN(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.emb = nn.Embedding(vocab, hidden)
        self.V = nn.Parameter(torch.randn(hidden, 2 * hidden, 2 * hidden) / (2 * hidden))
        self.W = nn.Linear(2 * hidden, hidden)

    def forward(self, tree):
        if not tree.children:
            return {"h": self.emb(torch.tensor(tree.word))}
        b = torch.cat([self(child)["h"] for child in tree.children])
        return {"h": torch.tanh(torch.einsum("ijk,j,k->i", self.V, b, b) + self.W(b))}


def rntn(vocab, hidden):
    N, H, word, h_ph = ra.N, hidden, ra.node_input("word", dtype="int32"), ra.placeholder((ra.N, hidden))
    V, b = ra.input_tensor("V", (H, 2 * H, 2 * H)), ra.concat_children(h_ph, 2)
    Vb = ra.compute((N, H, 2 * H), lambda n, i, j: ra.sum(2 * H, lambda q: V[i, j, q] * b[n, q]))
    bVb = ra.compute((N, H), lambda n, i: ra.sum(2 * H, lambda j: Vb[n, i, j] * b[n, j]))
    leaf, Wb = ra.embedding(word, "emb", (vocab, H)), ra.linear(b, "W", out=H)
    inner = ra.compute((N, H), lambda n, i: ra.tanh(bVb[n, i] + Wb[n, i]))
    h = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, inner))
    return ra.recursion_op(h_ph, h, structure=ra.Tree(max_children=2))
