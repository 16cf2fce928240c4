from cortex import ra

N, S, H = ra.N, ra.S, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: x[n, i] + ra.sum_children(n, lambda k: h_ph[k, i]))
m = ra.compute((S, H), lambda s, i: ra.max_nodes(s, lambda n: h[n, i]))
ra.recursion_op({"h": (h_ph, h)}, after={"h": m})

MESSAGE = """\
ModelError: recursion_op: two results are called 'h'
  at after_of_a_results_name.py:7
  because: a call returns one array under each name
  fix: name one otherwise
"""
