"""A reader as the fuzzer calls it, and one process's cases of it."""

from __future__ import annotations

import resource
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random
from time import process_time

from ragged.errors import UserError
from tests.fuzz_readers.mutate import case

MOST_MEMORY = 2 << 30
"""The bytes by which one process may grow."""


@dataclass(frozen=True)
class Reader:
    """Something that reads files or texts. `read` may raise a `UserError`, and nothing else.

    `seeds` are right inputs that cases are made of, `words` what is inserted into them.
    """

    seeds: Sequence[bytes]
    words: Sequence[bytes]
    read: Callable[[bytes], object]


def data_of(reader: Reader, name: str, seed: int, number: int) -> bytes:
    """Return the bytes of a case."""
    return case(reader.seeds, reader.words, Random(f"{name} {seed} {number}"))


def run_cases(
    reader: Reader, name: str, seed: int, first: int, seconds: float, most: float, begun: Path
) -> Iterator[tuple[int, str | None]]:
    """Run cases until their processor time is spent; yield the number of each, and the traceback if it failed.

    A case that takes more than `most` seconds of processor time ends the process with SIGPROF.
    The number of the case that runs stands in the file `begun`, for when the process does not come back.
    """
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MOST_MEMORY,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    end = process_time() + seconds
    for number in count(first):
        begun.write_text(str(number))
        yield number, run_case(reader, data_of(reader, name, seed, number), most)
        if process_time() > end:
            return


def run_case(reader: Reader, data: bytes, most: float) -> str | None:
    """Return the traceback of a case that failed."""
    signal.setitimer(signal.ITIMER_PROF, most)
    try:
        reader.read(data)
    except UserError:
        return None
    except Exception:
        return traceback.format_exc(limit=-6)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return None
