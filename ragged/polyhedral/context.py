"""isl's context of a thread: its work is bounded, and what exceeds the bound has no answer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MAX_OPERATIONS = 300_000
"""Bound on the work of one question, in isl's own units: some 100 ms."""

_local = threading.local()


class PolyhedralLimitError(Exception):
    """A question that isl does not answer: beyond `MAX_OPERATIONS`, or a set that it cannot express."""


@contextmanager
def isl_context() -> Iterator[Any]:
    """Give this thread's context with its count of operations at zero.

    Raises:
        PolyhedralLimitError: isl gave up.
    """
    import islpy  # here: the import takes 0.1 s, and most programs never need it

    if not hasattr(_local, "context"):
        _local.context = islpy.Context()
        _local.context.set_max_operations(MAX_OPERATIONS)
    _local.context.reset_operations()
    try:
        yield _local.context
    except islpy.Error as error:
        raise PolyhedralLimitError(str(error)) from error
