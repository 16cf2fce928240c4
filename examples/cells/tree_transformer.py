"""A tree transformer: siblings attend to each other, and their parent takes the mean; feed-forward and two norms."""

import torch
from torch import nn

from cortex import ra


class TreeTransformer(nn.Module):
    def __init__(self, embed, hidden, ff):
        super().__init__()
        self.x = nn.Linear(embed, hidden)
        self.q, self.k, self.v = (nn.Linear(hidden, hidden) for _ in range(3))
        self.up, self.down = nn.Linear(hidden, ff), nn.Linear(ff, hidden)
        self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)

    def forward(self, tree):
        z = self.x(torch.from_numpy(tree.x))
        if tree.children:
            h = torch.stack([self(child)["h"] for child in tree.children])
            z = z + nn.functional.scaled_dot_product_attention(self.q(h), self.k(h), self.v(h)).mean(0)
        y = self.norm1(z)
        return {"h": self.norm2(y + self.down(nn.functional.gelu(self.up(y))))}


def tree_transformer(embed, hidden, ff):
    N, K, H = ra.N, ra.K, hidden

    def dense(name, x, rows, columns):
        return ra.linear(
            x,
            ra.input_tensor(f"{name}.weight", (rows, columns)),
            ra.input_tensor(f"{name}.bias", (rows,)),
            name,
        )

    def norm(name, x):
        return ra.layer_norm(
            x, *(ra.input_tensor(f"{name}.{part}", (H,)) for part in ("weight", "bias")), name=name
        )

    h_ph, x = ra.placeholder((N, H)), dense("x", ra.node_input("x", (embed,)), H, embed)
    q, k_, v = (dense(name, h_ph, H, H) for name in "qkv")

    def score(n, k, s):
        return ra.sum(H, lambda j: q[n, k, j] * k_[n, s, j]) / H**0.5

    top = ra.compute((N, K), lambda n, k: ra.max_children(n, lambda s: score(n, k, s)))
    total = ra.compute((N, K), lambda n, k: ra.sum_children(n, lambda s: ra.exp(score(n, k, s) - top[n, k])))
    a = ra.compute(
        (N, K, H),
        lambda n, k, i: ra.sum_children(
            n, lambda s: ra.exp(score(n, k, s) - top[n, k]) / total[n, k] * v[n, s, i]
        ),
    )
    siblings = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: a[n, k, i]))
    z = ra.compute((N, H), lambda n, i: x[n, i] + siblings[n, i] / ra.maximum(ra.num_children(n), 1))
    y = norm("norm1", z)
    up = dense("up", y, ff, H)
    down = dense("down", ra.compute((N, ff), lambda n, i: ra.gelu(up[n, i]), name="act"), H, ff)
    return ra.recursion_op(h_ph, norm("norm2", ra.compute((N, H), lambda n, i: y[n, i] + down[n, i])))
