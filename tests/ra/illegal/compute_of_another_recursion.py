from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
f_ph = ra.placeholder((N, H), default=0.0)
b_ph = ra.placeholder((N, H), default=0.0)
f = ra.compute((N, H), lambda n, i: ra.tanh(x[n, i] + f_ph[n.left, i]))
first = ra.recursion_op({"f": (f_ph, f)}, structure=ra.Sequence())
b = ra.compute((N, H), lambda n, i: ra.tanh(f[n, i] + b_ph[n.left, i]))
ra.recursion_op({"b": (b_ph, b)}, structure=ra.Sequence())

MESSAGE = """\
ModelError: 'f_ph[n.left, i]' reads a placeholder that the recursion does not define
  at compute_of_another_recursion.py:7
  because: the outputs are b
  fix: name it among the outputs, {..., name: (placeholder, compute)}; another recursion's results come as a payload
"""
