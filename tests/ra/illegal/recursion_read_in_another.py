from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
f_ph, b_ph = ra.placeholder((N, H), default=0.0), ra.placeholder((N, H), default=0.0)
f = ra.compute((N, H), lambda n, i: ra.tanh(x[n, i] + f_ph[n.left, i]))
first = ra.recursion_op({"f": (f_ph, f)}, structure=ra.Sequence())
b = ra.compute((N, H), lambda n, i: ra.tanh(first[n, i] + b_ph[n.left, i]))
ra.recursion_op({"b": (b_ph, b)}, structure=ra.Sequence())

MESSAGE = """\
ModelError: a recursion with the output 'f' is read like a tensor
  at recursion_read_in_another.py:8
  because: a model is one recursion: the results of another are known when that has run
  fix: compile it apart, and give its out.nodes("f") to the other as a payload
"""
