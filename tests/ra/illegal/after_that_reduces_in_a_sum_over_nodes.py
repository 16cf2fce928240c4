from cortex import ra

N, S, H = ra.N, ra.S, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: x[n, i] + ra.sum_children(n, lambda k: h_ph[k, i]))
m = ra.compute((S,), lambda s: ra.sum_nodes(s, lambda n: ra.sum(H, lambda j: h[n, j])))
ra.recursion_op(h_ph, h, after={"m": m})

MESSAGE = """\
ModelError: 'sum(sum(h[n, j] for j < 4) for n in nodes(s))': a reduction inside of one over nodes
  at after_that_reduces_in_a_sum_over_nodes.py:7
  because: it has a value for each node
  fix: make it a compute of its own, (ra.N, ...), and read that at the node
"""
