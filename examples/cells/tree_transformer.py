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
    N, H, h_ph = ra.N, hidden, ra.placeholder((ra.N, hidden))
    x = ra.linear(ra.node_input("x", (embed,)), "x", out=H)
    a = ra.attention_children(*(ra.linear(h_ph, name, out=H, name=name) for name in "qkv"))
    total = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: a[n, k, i]))
    z = ra.compute((N, H), lambda n, i: x[n, i] + total[n, i] / ra.maximum(ra.num_children(n), 1))
    y = ra.layer_norm(z, "norm1")
    up = ra.linear(y, "up", out=ff)
    down = ra.linear(ra.compute((N, ff), lambda n, i: ra.gelu(up[n, i]), name="act"), "down", out=H)
    return ra.recursion_op(
        h_ph, ra.layer_norm(ra.compute((N, H), lambda n, i: y[n, i] + down[n, i]), "norm2")
    )
