import math

from cortex import ra

x = ra.node_input("x")
ra.compute((ra.N,), lambda n: math.tanh(x[n]))

MESSAGE = """\
ModelError: an expression is given for a number of Python
  at function_of_python.py:6
  because: its value is known when the function runs, not while it is written
  fix: a function of ra: ceil, cos, erf, erfc, exp, exp10, exp2, floor, gelu, leaky_relu, log, log1p, \
pow, relu, rsqrt, sigmoid, silu, sin, softplus, sqrt, tanh, maximum, minimum
"""
