from cortex import ra

N, H = ra.N, 4
h_ph = ra.placeholder((N, H))
kind = ra.node_input("kind", dtype="int32")
ra.compute((N, H), lambda n, i: h_ph[n.child(kind[n]), i])

MESSAGE = """\
ModelError: 'n.child(kind[n])': a recursive call at a computed child (P.2)
  at p2_computed_child.py:6
  because: which nodes a node calls must follow from the structure alone
  fix: write the position as a number, or reduce over all children with ra.sum_children
"""
