from cortex import ra

ra.node_input("word", dtype="int32", default=0.5)

MESSAGE = """\
ModelError: node_input 'word': the default 0.5 is no integer, the payload is
  at default_that_is_no_integer.py:3
  fix: default=-1, or the dtype of the default
"""
