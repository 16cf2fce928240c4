from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: x[n, i] + ra.sum_children(n, lambda k: h_ph[k, i]))
y = ra.softmax_children(h)

MESSAGE = """\
ModelError: softmax_children: x has shape (ra.N, 4)
  at softmax_of_no_children.py:7
  because: it is computed over the children of each node
  fix: x = ra.compute((ra.N, ra.K), lambda n, k: ...)
"""
