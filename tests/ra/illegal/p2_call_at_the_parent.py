from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: ra.tanh(x[n, i] + h_ph[n.parent, i]))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'n.parent': a recursive call at a node's parent (P.2)
  at p2_call_at_the_parent.py:6
  because: a recursion runs from the leaves up, and the result of a parent is computed from this one
  fix: run over ra.Dag() with the edges reversed, so that a parent is its children's child
"""
