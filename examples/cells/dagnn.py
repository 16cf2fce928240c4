"""DAGNN (Thost and Chen 2021): attention over predecessors, then a GRU cell with the result as its state."""

import torch
from torch import nn

from cortex import ra


class DAGNN(nn.Module):
    def __init__(self, embed, hidden):
        super().__init__()
        self.query, self.key = nn.Linear(embed, 1), nn.Linear(hidden, 1, bias=False)
        self.cell = nn.GRUCell(embed, hidden)

    def forward(self, tree):
        x, h = torch.from_numpy(tree.x), [self(child)["h"] for child in tree.children]
        m = torch.zeros(self.cell.hidden_size)
        if h:
            a = torch.softmax(torch.cat([self.query(x) + self.key(h_k) for h_k in h]), 0)
            m = sum(a_k * h_k for a_k, h_k in zip(a, h, strict=True))
        return {"h": self.cell(x[None], m[None])[0]}


def dagnn(embed, hidden):
    N, K, H, x = ra.N, ra.K, hidden, ra.node_input("x", (embed,))
    h_ph = ra.placeholder((N, H))
    query, key = ra.linear(x, "query", out=1), ra.linear(h_ph, "key", out=1, bias=False)
    a = ra.softmax_children(ra.compute((N, K), lambda n, k: query[n, 0] + key[n, k, 0], name="score"))
    m = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: a[n, k] * h_ph[k, i]))
    return ra.recursion_op(h_ph, ra.gru_cell(x, m, "cell"), structure=ra.Dag())
