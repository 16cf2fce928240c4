"""`cortex.load`: a saved function, in a process that has no need of the compiler."""

from __future__ import annotations

import os
from pathlib import Path

from cortex.compiler.artifact import read_artifact
from cortex.compiler.function import RecursiveFunction
from ragged.compiled.artifact import reading


def load(path: str | os.PathLike[str], *, threads: int | None = None) -> RecursiveFunction:
    """Return a function that `fn.save` wrote, with its parameters and its vocabulary.

    The file is checked as a whole before any code in it runs: its form, its hashes, and that this processor has what
    the code was compiled for. That finds damage and mix-ups. It does not make a stranger's file safe: an artifact is a
    program, so load those alone whose makers you trust.

    Args:
        path: the file.
        threads: the most threads that a call may use; None is what the function was compiled for, and if that was
            None too, the cores that this process may use.

    Raises:
        DataError: the file is no saved function, of another version, or damaged.
        UserError: the function was compiled for another processor.
        OSError: the file cannot be read.

    Example::

        fn.save("m.cortex")
        fn = cortex.load("m.cortex")
    """
    data = Path(path).read_bytes()
    with reading(path):
        made, params = read_artifact(data, threads)
        return RecursiveFunction(made, params)
