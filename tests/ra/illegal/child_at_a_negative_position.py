from cortex import ra

N, H = ra.N, 4
h_ph = ra.placeholder((N, H))
ra.compute((N, H), lambda n, i: h_ph[n.child(-1), i])

MESSAGE = """\
ModelError: 'n.child(-1)': a child's position is a whole number from 0 on
  at child_at_a_negative_position.py:5
  fix: n.child(0) is the first child
"""
