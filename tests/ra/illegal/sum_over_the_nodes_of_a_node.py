from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: x[n, i] + ra.sum_children(n, lambda k: h_ph[k, i]))
y = ra.compute((N, H), lambda n, i: ra.sum_nodes(n, lambda m: h[m, i]))

MESSAGE = """\
ModelError: ra.sum_nodes: 'n' is no structure
  at sum_over_the_nodes_of_a_node.py:7
  fix: give it the s of a compute over structures: ra.compute((ra.S, ...), lambda s, i: ...)
"""
