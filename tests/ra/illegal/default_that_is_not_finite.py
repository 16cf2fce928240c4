from cortex import ra

ra.node_input("score", default=float("-inf"))

MESSAGE = """\
ModelError: node_input 'score': the default -inf is not finite
  at default_that_is_not_finite.py:3
  because: a saved function holds it as a number in JSON, which has none that are not
  fix: a finite default, and ra.where
"""
