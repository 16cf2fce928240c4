from cortex import ra

N, S, H = ra.N, ra.S, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: x[n, i] + ra.sum_children(n, lambda k: h_ph[k, i]))
m = ra.compute((S, H), lambda s, i: h[s, i])
ra.recursion_op(h_ph, h, after={"m": m})

MESSAGE = """\
ModelError: 'h[s, i]': 's' is a structure
  at structure_as_a_node.py:7
  because: 'h' has a value for each node (ra.N)
  fix: ra.sum_nodes(s, lambda n: ...), or ra.max_nodes
"""
