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
    N, H = ra.N, hidden
    emb, word = ra.input_tensor("emb.weight", (vocab, H)), ra.node_input("word", dtype="int32")
    V, h_ph = ra.input_tensor("V", (H, 2 * H, 2 * H)), ra.placeholder((N, H))
    W, w = ra.input_tensor("W.weight", (H, 2 * H)), ra.input_tensor("W.bias", (H,))
    leaf = ra.compute((N, H), lambda n, i: emb[word[n], i])

    def both(f):  # the sum over left and right child of f(first column, child)
        return lambda n, *at: f(0, n.left, *at) + f(H, n.right, *at)

    Vb = ra.compute(
        (N, H, 2 * H), both(lambda s, c, i, j: ra.sum(H, lambda q: V[i, j, q + s] * h_ph[c, q])), name="Vb"
    )
    Wb = ra.compute((N, H), both(lambda s, c, i: ra.sum(H, lambda q: W[i, q + s] * h_ph[c, q])), name="Wb")
    bVb = ra.compute(
        (N, H), lambda n, i: both(lambda s, c: ra.sum(H, lambda q: Vb[n, i, q + s] * h_ph[c, q]))(n)
    )
    inner = ra.compute((N, H), lambda n, i: ra.tanh(bVb[n, i] + Wb[n, i] + w[i]))
    h = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, inner))
    return ra.recursion_op(h_ph, h, structure=ra.Tree(max_children=2))
