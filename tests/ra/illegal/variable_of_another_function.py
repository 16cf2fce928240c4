from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i]))
seen = []
z = ra.compute((N, H), lambda n, i: seen.append(i) or x[n, i])
h = ra.compute((N, H), lambda n, i: hs[n, seen[0]] + z[n, i])
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'i' belongs to another function
  at variable_of_another_function.py:8
  because: the function of 'h' was not given it
  fix: read a tensor of that compute instead: other[n, i]
"""
