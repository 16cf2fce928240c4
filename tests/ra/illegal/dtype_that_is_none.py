from cortex import ra

H = 4
ra.node_input("x", (H,), dtype="float16")

MESSAGE = """\
ModelError: node_input 'x': dtype 'float16' is none of float32, int32, int64
  at dtype_that_is_none.py:4
  because: models compute with floats of 32 bits, and index with integers
"""
