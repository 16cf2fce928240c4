"""What a program means: it is run element by element, and refused where it means nothing.

The interpreter shares no code with passes or code generation. It is slow (about half a microsecond for each
operator) and strict: it finds reads of what was never written, accesses out of bounds, data races and
barriers that not all workers reach.
"""

from ragged.ir.interpret.faults import (
    BarrierDivergence,
    CheckFailed,
    Fault,
    NotWritable,
    OutOfBounds,
    OutOfDomain,
    Overflow,
    Race,
    Undefined,
)
from ragged.ir.interpret.run import interpret

__all__ = [
    "BarrierDivergence",
    "CheckFailed",
    "Fault",
    "NotWritable",
    "OutOfBounds",
    "OutOfDomain",
    "Overflow",
    "Race",
    "Undefined",
    "interpret",
]
