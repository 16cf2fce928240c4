from cortex import ra

N, H = ra.N, 4
x, W = ra.node_input("x", (H,)), ra.input_tensor("W", (3, H))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: x[n, i] + ra.sum_children(n, lambda k: h_ph[k, i]))
zero = ra.compute((N, H), lambda n, i: 0.0)
s = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), zero, h))
y = ra.compute((N, 3), lambda n, i: ra.sum(H, lambda j: W[i, j] * s[n, j]))
ra.recursion_op(h_ph, h, roots={"y": y})

MESSAGE = """\
ModelError: 's' is a branch, and read by a head
  at head_that_reads_a_branch.py:8
  because: the loop over roots has no cases of nodes
  fix: make 's' an output of the recursion, or choose between values with ra.where
"""
