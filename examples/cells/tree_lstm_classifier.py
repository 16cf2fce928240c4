"""Child-sum TreeLSTM (Tai et al. 2015) with a distribution over classes at each node."""

import torch
from torch import nn

from cortex import ra


class TreeLSTM(nn.Module):
    def __init__(self, vocab, embed, hidden, classes):
        super().__init__()
        self.emb = nn.Embedding(vocab, embed)
        self.x = nn.Linear(embed, 4 * hidden)
        self.iou = nn.Linear(hidden, 3 * hidden, bias=False)
        self.f = nn.Linear(hidden, hidden, bias=False)
        self.out = nn.Linear(hidden, classes)

    def forward(self, tree):
        below = [self(child) for child in tree.children]
        h = [each["h"] for each in below]
        x_i, x_o, x_u, x_f = self.x(self.emb(torch.tensor(tree.word))).chunk(4)
        i, o, u = self.iou(sum(h, torch.zeros(self.f.in_features))).chunk(3)
        c = torch.sigmoid(x_i + i) * torch.tanh(x_u + u)
        for each in below:
            c = c + torch.sigmoid(x_f + self.f(each["h"])) * each["c"]
        h = torch.sigmoid(x_o + o) * torch.tanh(c)
        return {"h": h, "c": c, "log_p": torch.log_softmax(self.out(h), -1)}


def tree_lstm(vocab, embed, hidden, classes):
    N, H, word = ra.N, hidden, ra.node_input("word", dtype="int32")
    h_ph, c_ph = ra.placeholder((N, H)), ra.placeholder((N, H))
    z, f = (
        ra.linear(ra.embedding(word, "emb", (vocab, embed)), "x", out=4 * H),
        ra.linear(h_ph, "f", out=H, bias=False),
    )
    hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i]))
    iou = ra.linear(hs, "iou", out=3 * H, bias=False)
    gate = ra.compute((N, ra.K, H), lambda n, k, i: ra.sigmoid(z[n, i + 3 * H] + f[n, k, i]))
    fc = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: gate[n, k, i] * c_ph[k, i]))
    u = ra.compute((N, H), lambda n, i: ra.tanh(z[n, i + 2 * H] + iou[n, i + 2 * H]))
    c = ra.compute((N, H), lambda n, i: ra.sigmoid(z[n, i] + iou[n, i]) * u[n, i] + fc[n, i])
    h = ra.compute((N, H), lambda n, i: ra.sigmoid(z[n, i + H] + iou[n, i + H]) * ra.tanh(c[n, i]))
    log_p = ra.log_softmax(ra.linear(h, "out", out=classes))
    return ra.recursion_op({"h": (h_ph, h), "c": (c_ph, c), "log_p": log_p})
