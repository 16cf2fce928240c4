from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
seen = []
hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: seen.append(k) or h_ph[k, i]))
h = ra.compute((N, H), lambda n, i: hs[n, i] + h_ph[seen[0], i])
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'k' belongs to another function
  at child_of_another_reduction.py:8
  because: the function of 'h' was not given it
  fix: read a tensor of that compute instead: other[n, i]
"""
