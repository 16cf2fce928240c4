from cortex import ra

N, H = ra.N, 4
x, W = ra.node_input("x", (H,)), ra.input_tensor("W", (3, H))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: x[n, i] + ra.sum_children(n, lambda k: h_ph[k, i]))
y = ra.compute((N, 3), lambda n, i: ra.sum(H, lambda j: W[i, j] * h[n, j]))
ra.recursion_op({"h": (h_ph, h)}, roots={"h": y})

MESSAGE = """\
ModelError: recursion_op: two results are called 'h'
  at head_of_an_outputs_name.py:7
  because: a call returns one array under each name
  fix: name one otherwise
"""
