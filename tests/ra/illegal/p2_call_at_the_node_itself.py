from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: x[n, i] + h_ph[n, i])
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'h_ph[n, i]': a recursive call at the node itself (P.2)
  at p2_call_at_the_node_itself.py:6
  because: the result of a node would be needed to compute it
  fix: call at n.left, n.right, n.child(j), or at all children with ra.sum_children
"""
