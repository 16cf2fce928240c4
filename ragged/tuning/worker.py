"""A process that compiles what it is sent, for the cache on disk: `python -m ragged.tuning.worker FILE_DESCRIPTOR`."""

from __future__ import annotations

import sys
from multiprocessing.connection import Connection

from ragged.errors import ProjectError


def main(descriptor: int) -> None:
    """Compile until the other side closes the connection; the reply is the text of a refusal, or None."""
    with Connection(descriptor) as connection:
        while True:
            try:
                job = connection.recv()
            except (EOFError, OSError):
                return
            try:
                job()
                connection.send(None)
            except ProjectError as error:
                connection.send(str(error))


if __name__ == "__main__":
    main(int(sys.argv[1]))
