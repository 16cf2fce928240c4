from cortex import ra

N = ra.N
x = ra.node_input("x")
h = ra.placeholder((N,))
body = ra.compute((N,), lambda n: x[n] + ra.sum_children(n, lambda k: h[k]))
ra.recursion_op(h, body, structure=ra.Sequence)

MESSAGE = """\
ModelError: recursion_op: structure=<class 'cortex.ra.structure.Sequence'> is no structure
  at structure_that_is_a_class.py:7
  fix: ra.Tree(), ra.Dag() or ra.Sequence()
"""
