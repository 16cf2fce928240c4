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
    N, K, H = ra.N, ra.K, hidden
    x, h_ph = ra.node_input("x", (embed,)), ra.placeholder((N, H))
    Q, q = ra.input_tensor("query.weight", (1, embed)), ra.input_tensor("query.bias", (1,))
    query, key = ra.linear(x, Q, q), ra.linear(h_ph, ra.input_tensor("key.weight", (1, H)))
    s = ra.compute((N, K), lambda n, k: query[n, 0] + key[n, k, 0])
    top = ra.compute((N,), lambda n: ra.max_children(n, lambda k: s[n, k]))
    e = ra.compute((N, K), lambda n, k: ra.exp(s[n, k] - top[n]))
    total = ra.compute((N,), lambda n: ra.sum_children(n, lambda k: e[n, k]))
    m = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: e[n, k] / total[n] * h_ph[k, i]))
    W, b = ra.input_tensor("cell.weight_ih", (3 * H, embed)), ra.input_tensor("cell.bias_ih", (3 * H,))
    U, d = ra.input_tensor("cell.weight_hh", (3 * H, H)), ra.input_tensor("cell.bias_hh", (3 * H,))
    Wx, Um = ra.linear(x, W, b), ra.linear(m, U, d)
    r, z = (ra.compute((N, H), lambda n, i, s=s: ra.sigmoid(Wx[n, i + s] + Um[n, i + s])) for s in (0, H))
    g = ra.compute((N, H), lambda n, i: ra.tanh(Wx[n, i + 2 * H] + r[n, i] * Um[n, i + 2 * H]))
    h = ra.compute((N, H), lambda n, i: z[n, i] * m[n, i] + (1 - z[n, i]) * g[n, i])
    return ra.recursion_op(h_ph, h, structure=ra.Dag())
