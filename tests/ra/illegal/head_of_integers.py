from cortex import ra

N, H = ra.N, 4
x, W = ra.node_input("x", (H,)), ra.input_tensor("W", (3, H))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: x[n, i] + ra.sum_children(n, lambda k: h_ph[k, i]))
y = ra.compute((N,), lambda n: ra.num_children(n))
ra.recursion_op(h_ph, h, roots={"y": y})

MESSAGE = """\
ModelError: output 'y' computes integers
  at head_of_integers.py:7
  because: results are floats
  fix: multiply by 1.0
"""
