from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
c_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i] * c_ph[k, i]))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'c_ph[k, i]' reads a placeholder that the recursion does not define
  at placeholder_not_in_the_recursion.py:7
  because: the outputs are h
  fix: name it among the outputs, {..., name: (placeholder, compute)}; another recursion's results come as a payload
"""
