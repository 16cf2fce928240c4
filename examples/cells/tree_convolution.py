"""Tree convolution (Mou et al. 2016) in two layers, the maximum over all nodes of a tree, and a head on it."""

import torch
from torch import nn

from cortex import ra


class TreeConvolution(nn.Module):
    def __init__(self, embed, hidden):
        super().__init__()
        self.first, self.second = nn.Linear(3 * embed, hidden), nn.Linear(3 * hidden, hidden)
        self.head = nn.Linear(hidden, 1)

    def convolve(self, layer, tree, rows):
        none = torch.zeros_like(rows[tree])
        left, right = (rows[child] for child in tree.children) if tree.children else (none, none)
        return torch.relu(layer(torch.cat([rows[tree], left, right])))

    def forward(self, tree):
        nodes = [tree]
        for node in nodes:
            nodes += node.children
        rows = {node: torch.from_numpy(node.x) for node in nodes}
        for layer in (self.first, self.second):
            rows = {node: self.convolve(layer, node, rows) for node in nodes}
        pooled = torch.stack(list(rows.values())).max(0).values
        return {"pooled": pooled, "score": self.head(pooled)}


def tree_convolution(embed, hidden):
    N, S, H, rows = ra.N, ra.S, hidden, ra.node_input("x", (embed,))
    for name in ("first", "second"):
        z = ra.linear(ra.concat(rows, ra.concat_children(rows, 2)), name, out=H)
        rows = ra.compute((N, H), lambda n, i, z=z: ra.relu(z[n, i]))
    pooled = ra.compute((S, H), lambda s, i: ra.max_nodes(s, lambda n: rows[n, i]))
    results = {"pooled": pooled, "score": ra.linear(pooled, "head", out=1)}
    return ra.recursion_op({}, structure=ra.Tree(max_children=2), after=results)
