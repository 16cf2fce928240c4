from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
leaf = ra.compute((N, H), lambda n, i: x[n, i])
rec = ra.compute((N, H), lambda n, i: h_ph[n.left, i])
h = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, rec))
ra.recursion_op(h_ph, h, structure=ra.Dag())

MESSAGE = """\
ModelError: 'h_ph[n.left, i]': a child by its position in a Dag
  at position_in_a_dag.py:7
  because: 'n.left' asks for an order, and the children of a Dag's node have none
  fix: reduce over all children with ra.sum_children, or run over ra.Tree()
"""
