from cortex import ra

ra.placeholder((ra.N, 3), default="zero")

MESSAGE = """\
ModelError: placeholder: the default 'zero' is no float32
  at default_that_is_no_number.py:3
  because: it holds numbers from -3.4028234663852886e+38 to 3.4028234663852886e+38
  fix: default=0.0
"""
