from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: x[n, i] + ra.sum_children(n, lambda k: h_ph[k, i]))
y = ra.linear(h, "out")

MESSAGE = """\
ModelError: linear: 'out' without out=
  at linear_of_no_extent.py:7
  fix: ra.linear(x, "out", out=256)
"""
