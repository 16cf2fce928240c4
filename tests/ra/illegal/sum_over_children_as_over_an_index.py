from cortex import ra

N, K, H = ra.N, ra.K, 4
x = ra.node_input("x", (H,))
ra.compute((N, H), lambda n, i: ra.sum(K, lambda k: x[k, i]))

MESSAGE = """\
ModelError: ra.sum: ra.K is no extent
  at sum_over_children_as_over_an_index.py:5
  because: a dense reduction runs over as many elements at every node
  fix: over the children of a node: ra.sum_children(n, lambda k: ...)
"""
