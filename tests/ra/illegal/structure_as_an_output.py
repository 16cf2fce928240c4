from cortex import ra

N, S, H = ra.N, ra.S, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: x[n, i] + ra.sum_children(n, lambda k: h_ph[k, i]))
m = ra.compute((S, H), lambda s, i: ra.max_nodes(s, lambda n: h[n, i]))
ra.recursion_op({"h": (h_ph, h), "m": m})

MESSAGE = """\
ModelError: recursion_op: 'm' is computed of structures
  at structure_as_an_output.py:8
  because: it has a value for each structure, when the recursion has ended
  fix: after={"m": ...}
"""
