from cortex import ra

N, H = ra.N, 4
h_ph = ra.placeholder((N, H))
ra.compute((N, H), lambda n, i: h_ph[n.child(h_ph[n.left, 0]), i])

MESSAGE = """\
ModelError: 'n.child(h_ph[n.left, 0])': a recursive call depends on a sibling's result (P.3)
  at p3_child_chosen_by_a_sibling.py:5
  because: the calls at a node's children must be free to run in any order
  fix: write the position as a number, or reduce over all children with ra.sum_children
"""
