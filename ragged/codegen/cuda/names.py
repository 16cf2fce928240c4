"""Names of a program as names in CUDA C++, each once in a kernel."""

from __future__ import annotations

import re

from ragged.codegen.cuda.preamble import RESERVED
from ragged.codegen.names import identifier, unique
from ragged.ir.elementwise import FUNCTIONS

_WORDS = (
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const constexpr continue "
    "decltype default delete do double else enum explicit export extern false float for friend goto if inline int long "
    "mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register return "
    "short signed sizeof static struct switch template this throw true try typedef typeid typename union unsigned "
    "using virtual void volatile wchar_t while xor xor_eq INFINITY NAN "
    "blockIdx blockDim gridDim threadIdx warpSize abs div fabs fma fmaf exp2 "
    "j0 j1 jn y0 y1 yn gamma index rand signal time clock min max round trunc main"
)
"""What means something else in C++, or in what nvcc includes."""


class CudaNames:
    """Gives out names, each of which is used for one thing."""

    def __init__(self) -> None:
        functions = " ".join(row.cuda.format(x="", f=f) for row in FUNCTIONS.values() for f in ("", "f"))
        self._taken = {*_WORDS.split(), *RESERVED.split(), *re.findall(r"[a-z]\w*", functions)}

    def unique(self, name: str) -> str:
        """Return `name` as an identifier, with a number where it is taken, and take it."""
        return unique(identifier(name), self._taken)
