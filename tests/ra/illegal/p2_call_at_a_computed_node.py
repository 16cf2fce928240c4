from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
kind = ra.node_input("kind", dtype="int32")
leaf = ra.compute((N, H), lambda n, i: x[n, i])
rec = ra.compute((N, H), lambda n, i: h_ph[kind[n], i])
h = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, rec))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'h_ph[kind[n], i]': a recursive call at a computed node (P.2)
  at p2_call_at_a_computed_node.py:8
  because: 'kind[n]' is a number, and which nodes a node calls must follow from the structure alone
  fix: call at n.left, n.right, n.child(j), or at all children with ra.sum_children
"""
