"""Compiling models: the pass pipeline, and the functions that come out."""

from cortex.compiler.compile import compile, loop_schedule
from cortex.compiler.function import RecursiveFunction, load
from cortex.compiler.output import Output
from cortex.compiler.profile import Profile
from ragged.compiled.profile import Spread

__all__ = ["Output", "Profile", "RecursiveFunction", "Spread", "compile", "load", "loop_schedule"]
