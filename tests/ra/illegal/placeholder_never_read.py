from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: ra.tanh(x[n, i]))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: no recursion: nothing reads 'h_ph'
  at placeholder_never_read.py:5
  because: no node uses what its children returned
  fix: read the placeholder at a child: h_ph[k, i]; a layer without recursion is recursion_op({"y": y})
"""
