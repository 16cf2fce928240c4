from cortex import ra

ra.node_input("word", dtype="int32", default=2**32 + 7)

MESSAGE = """\
ModelError: node_input 'word': the default 4294967303 is no int32
  at default_that_its_dtype_cannot_hold.py:3
  because: it holds numbers from -2147483648 to 2147483647
  fix: default=0
"""
