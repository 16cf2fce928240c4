from cortex import ra

N, H = ra.N, 4
x, W = ra.node_input("x", (H,)), ra.input_tensor("W", (3, H))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: x[n, i] + ra.sum_children(n, lambda k: h_ph[k, i]))
s = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i]))
y = ra.compute((N, 3), lambda n, i: ra.sum(H, lambda j: W[i, j] * s[n, j]))
ra.recursion_op(h_ph, h, roots={"y": y})

MESSAGE = """\
ModelError: 'sum(h_ph[k, i] for k in children(n))': 's' is read by a head, and reads children
  at head_that_reads_children.py:7
  because: a head reads parameters, and payloads and outputs at the root itself
  fix: make 's' an output of the recursion, which the head reads at the root
"""
