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
    N, H = ra.N, hidden
    x, a_ph, pool_ph = ra.node_input("x", (embed,)), ra.placeholder((N, H)), ra.placeholder((N, H))

    def convolve(name, own, at_child, size):  # relu(W [own; left; right] + b)
        W, b = ra.input_tensor(f"{name}.weight", (H, 3 * size)), ra.input_tensor(f"{name}.bias", (H,))

        def part(rows, shift):
            return lambda n, i: ra.sum(size, lambda j: W[i, j + shift] * rows(n, j))

        alone = ra.compute((N, H), part(lambda n, j: own[n, j], 0), name=f"{name}_own")
        left = ra.compute((N, H), part(lambda n, j: at_child[n.left, j], size), name=f"{name}_left")
        right = ra.compute((N, H), part(lambda n, j: at_child[n.right, j], 2 * size), name=f"{name}_right")
        leaf = ra.compute((N, H), lambda n, i: ra.relu(alone[n, i] + b[i]))
        inner = ra.compute((N, H), lambda n, i: ra.relu(alone[n, i] + left[n, i] + right[n, i] + b[i]))
        return ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, inner), name=name)

    a = convolve("first", x, x, embed)
    c = convolve("second", a, a_ph, H)
    below = ra.compute((N, H), lambda n, i: ra.max_children(n, lambda k: pool_ph[k, i]))
    pooled = ra.compute((N, H), lambda n, i: ra.maximum(c[n, i], below[n, i]))
    score = ra.linear(pooled, ra.input_tensor("head.weight", (1, H)), ra.input_tensor("head.bias", (1,)))
    outputs, tree = {"a": (a_ph, a), "pooled": (pool_ph, pooled)}, ra.Tree(max_children=2)
    return ra.recursion_op(outputs, structure=tree, roots={"score": score})
