from cortex import ra

x = ra.node_input("x")
ra.compute((ra.N,), lambda n: ra.sin(x[n], 3.0))

MESSAGE = """\
ModelError: sin: too many positional arguments
  at function_of_two_arguments.py:4
  fix: sin(x)
"""
