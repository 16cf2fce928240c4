from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
leaf = ra.compute((N, H), lambda n, i: x[n, i])
rec = ra.compute((N, H), lambda n, i: h_ph[n.left.left, i])
h = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, rec))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'h_ph[n.left.left, i]': 'n.left.left' is no child of 'n' but a grandchild (P.2)
  at p2_call_at_a_grandchild.py:7
  because: a node sees its children, and through their results what is below them
  fix: make what you need of the grandchild an output, and read it at the child
"""
