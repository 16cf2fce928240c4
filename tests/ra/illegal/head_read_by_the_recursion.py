from cortex import ra

N, H = ra.N, 4
x, W = ra.node_input("x", (H,)), ra.input_tensor("W", (3, H))
h_ph = ra.placeholder((N, H))
y = ra.compute((N, H), lambda n, i: ra.tanh(x[n, i]))
h = ra.compute((N, H), lambda n, i: y[n, i] + ra.sum_children(n, lambda k: h_ph[k, i]))
ra.recursion_op(h_ph, h, roots={"y": y})

MESSAGE = """\
ModelError: recursion_op: the recursion computes the head 'y'
  at head_read_by_the_recursion.py:6
  because: a head is computed at roots alone, after the recursion
  fix: make it an output, {"y": ...}, which each node computes; out["y"] has its roots
"""
