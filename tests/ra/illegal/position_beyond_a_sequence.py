from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
leaf = ra.compute((N, H), lambda n, i: x[n, i])
rec = ra.compute((N, H), lambda n, i: h_ph[n.right, i])
h = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, rec))
ra.recursion_op(h_ph, h, structure=ra.Sequence())

MESSAGE = """\
ModelError: 'h_ph[n.right, i]': there is no 'n.right'
  at position_beyond_a_sequence.py:7
  because: a node of Sequence() has 1 child at most
"""
