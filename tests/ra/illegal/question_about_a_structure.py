from cortex import ra

N, S, H = ra.N, ra.S, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: x[n, i] + ra.sum_children(n, lambda k: h_ph[k, i]))
m = ra.compute((S,), lambda s: ra.num_children(s))

MESSAGE = """\
ModelError: num_children: 's' is no node
  at question_about_a_structure.py:7
  fix: give it the n of the compute
"""
