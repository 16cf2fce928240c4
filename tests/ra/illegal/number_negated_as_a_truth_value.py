from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
ra.compute((N, H), lambda n, i: ra.where(~x[n, i], 1.0, 0.0))

MESSAGE = """\
ModelError: '~x[n, i]' mixes types
  at number_negated_as_a_truth_value.py:5
  because: the operator is for truth values
  fix: compare numbers with ==, <, ...; combine truth values with &, | and ~
"""
