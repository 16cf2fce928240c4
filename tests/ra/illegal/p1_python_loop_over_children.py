from cortex import ra

N, H = ra.N, 4
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: sum(h_ph[k, i] for k in n.children))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'n.children': Python cannot loop over a node's children (P.1)
  at p1_python_loop_over_children.py:5
  because: the model is written once for all nodes, and how many children one has is known when it runs
  fix: ra.sum_children(n, lambda k: ...), ra.max_children, or n.child(j) for the one at a position
"""
