from cortex import ra

N, S, H = ra.N, ra.S, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: x[n, i] + ra.sum_children(n, lambda k: h_ph[k, i]))
m = ra.compute((S, H), lambda s, i: h[s.left, i])

MESSAGE = """\
ModelError: 's' is a structure, and has no children
  at structure_with_children.py:7
  because: what is computed over ra.S is computed of all nodes of a structure
  fix: ra.sum_nodes(s, lambda n: ...), or ra.max_nodes
"""
