"""What is left out of TVM's import, and that it can be imported afterwards."""

import subprocess
import sys

SCRIPT = """
import os, sys
before = dict(os.environ)
from ragged.codegen import load_tvm
from ragged.codegen.load_tvm import tvm
assert dict(os.environ) == before
left_out = ("torch", "tvm.relax", "tvm.runtime.disco", "tvm.backend.cuda.ptx")
assert not [name for name in left_out if name in sys.modules]
assert not hasattr(tvm, "relax") and tvm.runtime.disco is None
tvm.backend.load("cuda")
assert tvm.backend.is_loaded("cuda")
"""


def test_nothing_that_is_not_needed_is_imported():
    subprocess.run([sys.executable, "-c", SCRIPT], check=True, timeout=120)
