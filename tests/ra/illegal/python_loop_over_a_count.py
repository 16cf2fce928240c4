from cortex import ra

h = ra.placeholder((ra.N,))
ra.compute((ra.N,), lambda n: sum(h[n] for _ in range(ra.num_children(n))))

MESSAGE = """\
ModelError: an expression is given for an integer of Python, as in range(...)
  at python_loop_over_a_count.py:4
  because: its value is known when the function runs, not while it is written
  fix: ra.sum over a dense index, ra.sum_children over the children of a node
"""
