"""The chunks that are finished: a file of one line of JSON each, that an interrupted search goes on from."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path
from types import TracebackType

from tests.fuzz.chunk import Chunk, Result


class Finished:
    """The results of one search, kept in a file that it alone writes.

    Raises `BlockingIOError` if another search is at work on that file.
    """

    def __init__(self, path: Path, *, anew: bool) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a+", encoding="utf-8")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise
        self._file.seek(0)
        lines = [] if anew else [line for line in self._file if line.endswith("\n")]
        self._file.truncate(
            sum(len(line.encode()) for line in lines)
        )  # a line that was not written to its end
        found = [Result.of_json(json.loads(line)) for line in lines]
        self.results = {result.chunk: result for result in found if result.failure is None}
        """Those to go on from: a chunk that failed is to be run again."""

    def __enter__(self) -> Finished:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def __contains__(self, chunk: Chunk) -> bool:
        return chunk in self.results

    def add(self, result: Result) -> None:
        self.results[result.chunk] = result
        self._file.write(json.dumps(result.as_json()) + "\n")
        self._file.flush()
