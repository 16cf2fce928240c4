from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: x[n, i] + ra.sum_children(n, lambda k: h_ph[k, i]))
q, k = (ra.linear(h_ph, name, out=size) for name, size in (("q", 3), ("k", 4)))
y = ra.attention_children(q, k, k)

MESSAGE = """\
ModelError: attention_children: q, k and v have shapes (ra.N, ra.K, 3), (ra.N, ra.K, 4), (ra.N, ra.K, 4)
  at attention_of_two_widths.py:8
  because: there is one of each for each child, and products are over the features of q and k
  fix: q, k, v = (ra.linear(h_ph, name, out=64) for name in ('q', 'k', 'v'))
"""
