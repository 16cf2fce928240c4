from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
leaf = ra.compute((N, H), lambda n, i: x[n, i])
rec = ra.compute((N, H), lambda n, i: h_ph[n.child(2), i])
h = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, rec))
ra.recursion_op(h_ph, h, structure=ra.Tree(max_children=2))

MESSAGE = """\
ModelError: 'h_ph[n.child(2), i]': there is no 'n.child(2)'
  at position_beyond_the_arity.py:7
  because: a node of Tree(max_children=2) has 2 children at most
  fix: Tree(max_children=3), or read a lower position
"""
