from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: ra.sum_children(k, lambda m: h_ph[m, i])))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'h_ph[m, i]': 'm' is no child of 'n' but a grandchild (P.2)
  at p2_grandchildren_reduced.py:6
  because: a node sees its children, and through their results what is below them
  fix: make what you need of the grandchild an output, and read it at the child
"""
