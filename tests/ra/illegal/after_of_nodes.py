from cortex import ra

N, H = ra.N, 4
x, W = ra.node_input("x", (H,)), ra.input_tensor("W", (3, H))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: x[n, i] + ra.sum_children(n, lambda k: h_ph[k, i]))
y = ra.compute((N, 3), lambda n, i: ra.sum(H, lambda j: W[i, j] * h[n, j]))
ra.recursion_op(h_ph, h, after={"y": y})

MESSAGE = """\
ModelError: recursion_op: 'y' is no compute over structures
  at after_of_nodes.py:8
  fix: after={"mean": ra.compute((ra.S, C), lambda s, i: ra.sum_nodes(s, lambda n: h[n, i]) / ra.num_nodes(s))}
"""
