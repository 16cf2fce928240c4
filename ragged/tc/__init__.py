"""Tensor Comprehensions: operators written as one line of index notation.

Vasilache et al. (2018), section 3: indices need no declaration, their ranges follow from the tensors that they index,
and an index of the right side alone is a reduction.
"""

from ragged.tc.errors import TcError
from ragged.tc.function import TcFunction
from ragged.tc.library import TcLibrary, define
from ragged.tc.saved import load
from ragged.tc.tuned import export_tuned, import_tuned

__all__ = ["TcError", "TcFunction", "TcLibrary", "define", "export_tuned", "import_tuned", "load"]
