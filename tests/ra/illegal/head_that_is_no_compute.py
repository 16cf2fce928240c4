from cortex import ra

N, H = ra.N, 4
x, W = ra.node_input("x", (H,)), ra.input_tensor("W", (3, H))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: x[n, i] + ra.sum_children(n, lambda k: h_ph[k, i]))
ra.recursion_op(h_ph, h, roots={"y": W})

MESSAGE = """\
ModelError: recursion_op: head 'y' is no compute over nodes
  at head_that_is_no_compute.py:7
  fix: roots={"logits": ra.compute((ra.N, C), lambda n, i: ...)}, which reads outputs: h[n, j]
"""
