"""Bao's tree convolution (Marcus et al. 2021): between layers, features are normalized over all nodes of a tree."""

import torch
from torch import nn

from cortex import ra


class TreeConvolution(nn.Module):
    def __init__(self, embed, hidden):
        super().__init__()
        self.first, self.second = nn.Linear(3 * embed, hidden), nn.Linear(3 * hidden, hidden)
        self.head = nn.Linear(hidden, 1)

    def convolve(self, layer, rows):
        out = {}
        for node, own in rows.items():
            below = [rows[child] for child in node.children] or [torch.zeros_like(own)] * 2
            out[node] = layer(torch.cat([own, *below]))
        return out

    def normalize(self, rows):
        all_rows = torch.stack(list(rows.values()))
        mean, deviation = all_rows.mean(), all_rows.std()
        return {node: torch.relu((row - mean) / (deviation + 1e-5)) for node, row in rows.items()}

    def forward(self, tree):
        nodes = [tree]
        for node in nodes:
            nodes += node.children
        rows = {node: torch.from_numpy(node.x) for node in nodes}
        for layer in (self.first, self.second):
            rows = self.normalize(self.convolve(layer, rows))
        pooled = torch.stack(list(rows.values())).max(0).values
        return {"pooled": pooled, "score": self.head(pooled)}


def tree_convolution(embed, hidden):
    N, S, H, rows = ra.N, ra.S, hidden, ra.node_input("x", (embed,))

    def mean(x, shift):  # over the features of all nodes of a tree
        total = ra.compute((S, H), lambda s, j: ra.sum_nodes(s, lambda n: x(n, j)))
        return ra.compute((S,), lambda s: ra.sum(H, lambda j: total[s, j]) / (ra.num_nodes(s) * H - shift))

    def normalize(x):
        m = mean(lambda n, j: x[n, j], 0)
        c = ra.compute((N, H), lambda n, i: x[n, i] - m[n])
        variance = mean(lambda n, j: c[n, j] * c[n, j], 1)
        return ra.compute((N, H), lambda n, i: ra.relu(c[n, i] / (ra.sqrt(variance[n]) + 1e-5)))

    for name in ("first", "second"):
        rows = normalize(ra.linear(ra.concat(rows, ra.concat_children(rows, 2)), name, out=H))
    pooled = ra.compute((S, H), lambda s, i: ra.max_nodes(s, lambda n: rows[n, i]))
    results = {"pooled": pooled, "score": ra.linear(pooled, "head", out=1)}
    return ra.recursion_op({}, structure=ra.Tree(max_children=2), after=results)
