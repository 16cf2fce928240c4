from cortex import ra

x = ra.node_input("x")
ra.compute((ra.N,), lambda n: 2.0 ** x[n])

MESSAGE = """\
ModelError: 2.0 is raised to the power of an expression
  at power_of_an_expression.py:4
  because: exponents are numbers
  fix: ra.exp2(x) or exp10(x); of another base ra.exp(x * math.log(base))
"""
