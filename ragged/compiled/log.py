"""Log lines of compiles, cache look-ups and calls, through the standard `logging` module.

The loggers are `ragged.compile`, `ragged.cache` and `ragged.call`, their level is INFO. The setting `LOG` (see
`ragged.front_ends`), as in `CORTEX_LOG=compile,cache,call`, writes the lines of those named to standard error.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from time import perf_counter
from typing import Any, ClassVar, TypeVar, cast

from ragged.errors import UserError
from ragged.front_ends import setting
from ragged.runtime.call import Caller
from ragged.runtime.cuda.caller import CudaCaller

Result = TypeVar("Result")
AnyCaller = TypeVar("AnyCaller", bound=Caller | CudaCaller)

COMPILE, CACHE, CALL = (logging.getLogger(f"ragged.{name}") for name in ("compile", "cache", "call"))
_LOGGERS = {"compile": COMPILE, "cache": CACHE, "call": CALL}


@cache
def configure() -> None:
    """Apply the setting `LOG`, once in a process.

    Raises:
        UserError: it names something else than these loggers.
    """
    for name in filter(None, (setting("LOG") or "").replace(" ", "").split(",")):
        if name not in _LOGGERS:
            raise UserError(f"LOG: nothing is logged under {name!r}", fix=f"some of {','.join(_LOGGERS)}")
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
        _LOGGERS[name].addHandler(handler)
        _LOGGERS[name].setLevel(logging.INFO)


class Stopwatch:
    """Seconds by part, for one log line."""

    running: ClassVar[str] = ""
    """The part of a compilation that was begun last, in whatever thread."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def time(self, part: str, action: Callable[[], Result]) -> Result:
        """Return the result of `action`, and add its time to a part's."""
        Stopwatch.running = part
        begin = perf_counter()
        result = action()
        self.seconds[part] = self.seconds.get(part, 0.0) + perf_counter() - begin
        return result

    def __str__(self) -> str:
        parts = ", ".join(f"{part} {seconds:.3f}" for part, seconds in self.seconds.items())
        return f"{sum(self.seconds.values()):.3f} s ({parts})"


def with_logged_calls(caller: AnyCaller, name: str) -> AnyCaller:
    """Return `caller`, or one that logs its calls if these are logged now: without logging, calls cost nothing more."""
    configure()
    return cast(AnyCaller, _LoggedCaller(caller, name)) if CALL.isEnabledFor(logging.INFO) else caller


class _LoggedCaller:
    """A caller that logs the sizes, the shapes of outputs, and the microseconds of each call."""

    def __init__(self, caller: Caller | CudaCaller, name: str) -> None:
        self._caller, self._name = caller, name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._caller, name)

    def run(self, values: Sequence[Any], **options: Any) -> tuple[Any, ...]:
        begin = perf_counter()
        results = self._caller.run(values, **options)
        sizes = zip((each.name for each in self._caller.wanted), values, strict=True)
        self._log(dict(sizes), dict(zip(self._caller.outputs, results, strict=True)), begin)
        return results

    def __call__(self, values: Mapping[str, Any], **options: Any) -> dict[str, Any]:
        begin = perf_counter()
        results = self._caller(values, **options)
        self._log(values, results, begin)
        return results

    def _log(self, values: Mapping[str, Any], results: Mapping[str, Any], begin: float) -> None:
        microseconds = (perf_counter() - begin) * 1e6
        sizes = ", ".join(f"{name}={value}" for name, value in values.items() if isinstance(value, int))
        shapes = ", ".join(f"{name} {array.shape}" for name, array in results.items())
        CALL.info("%s(%s) -> %s: %.1f us", self._name, sizes, shapes, microseconds)
