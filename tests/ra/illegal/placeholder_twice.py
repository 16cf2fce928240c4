from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i]))
c = ra.compute((N, H), lambda n, i: ra.tanh(hs[n, i]))
ra.recursion_op({"h": (h_ph, hs), "c": (h_ph, c)})

MESSAGE = """\
ModelError: recursion_op: outputs 'h' and 'c' have one placeholder
  at placeholder_twice.py:5
  because: a read of it would mean either
  fix: declare a placeholder for each output
"""
