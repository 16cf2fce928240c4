"""The native extension, or what to do where it is not built."""

from __future__ import annotations

try:
    from cortex.linearize import _native
except ImportError as error:
    raise ImportError(
        "cortex.linearize: its native extension is not built beside its sources; run `make test`, or "
        "`pip install -e .`. An installed package is found from any folder that has no folder `cortex` of its own."
    ) from error

Engine = _native.Engine
parse_ptb = _native.parse_ptb
