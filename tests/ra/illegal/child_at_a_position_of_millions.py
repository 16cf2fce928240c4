from cortex import ra

N, H = ra.N, 4
h_ph = ra.placeholder((N, H))
ra.compute((N, H), lambda n, i: h_ph[n.child(1023), i] + h_ph[n.child(10**9), i])

MESSAGE = """\
ModelError: 'n.child(1000000000)': a child's position is at most 1023
  at child_at_a_position_of_millions.py:5
  because: structures are given an array of all nodes' children for each position
  fix: ra.sum_children(n, lambda k: ...), or another reduction over all children
"""
