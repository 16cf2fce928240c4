"""ModelError: node_input 'x': dtype 'float16' is none of float32, int32, int64
at dtype_that_is_none.py:9
because: models compute with floats of 32 bits, and index with integers
"""

from cortex import ra

N, H = ra.N, 4
ra.node_input("x", (H,), dtype="float16")
