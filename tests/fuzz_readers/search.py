"""Readers under libFuzzer, each in a process forked from this one, which has imported and compiled everything."""

from __future__ import annotations

import ctypes
import os
import re
import resource
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import atheris

if TYPE_CHECKING:
    from tests.fuzz_readers.reader import Reader

MOST_MEMORY = 2 << 30
"""The bytes by which one process may grow."""
MOST_BYTES = 200_000
"""The most bytes of an input."""
COMMON_WORDS = (
    b"\r\n",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    "é漢😀".encode(),
    b"2147483648",
    b"1e999",
    b"nan",
    b"null",
)
"""What is inserted besides the words of a reader; the third is half of a pair of surrogates."""
FAILURE = re.compile(
    r"(?: === |==\d+== ERROR: libFuzzer).*?(?=^MS: |^SUMMARY: |\Z)", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True)
class Limits:
    """The seconds that one reader's process runs, those that one input may take, and the seed of the inputs."""

    seconds: int
    case_seconds: int
    seed: int


@dataclass(frozen=True)
class Result:
    """What the process of one reader printed: counts, and what failed with which file's bytes."""

    name: str
    executions: int
    coverage: int
    corpus: int
    failure: str | None = None
    input: Path | None = None


def search(readers: Mapping[str, Reader], limits: Limits, jobs: int, findings: Path) -> Iterator[Result]:
    """Run each reader until its time is over or an input fails; inputs that fail are written to `findings`."""
    waiting = list(enumerate(readers))
    running: dict[int, tuple[str, Path]] = {}
    with TemporaryDirectory(prefix="fuzz-readers-") as root:
        while waiting or running:
            while waiting and len(running) < jobs:
                number, name = waiting.pop(0)
                folder = Path(root) / str(number)
                prefix = findings.absolute() / re.sub(r"\W+", "-", name)
                arguments = [*_files(readers[name], folder), *_flags(limits), f"-artifact_prefix={prefix}-"]
                running[_fork(readers[name], folder, arguments, folder / "log")] = name, folder / "log"
            process, status = os.wait()
            name, log = running.pop(process)
            yield _result(name, log.read_text(errors="replace"), os.waitstatus_to_exitcode(status))


def repeat(reader: Reader, file: Path, case_seconds: int) -> int:
    """Read one file, print what libFuzzer says of it, and return the exit status."""
    with TemporaryDirectory(prefix="fuzz-readers-") as folder:
        arguments = [str(file.absolute()), f"-timeout={case_seconds}", f"-artifact_prefix={folder}/"]
        process = _fork(reader, Path(folder), arguments)
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _files(reader: Reader, folder: Path) -> list[str]:
    """Write a reader's seeds and words as libFuzzer reads them, and return the arguments that name them."""
    corpus, words = folder / "corpus", folder / "words"
    corpus.mkdir(parents=True)
    for number, seed in enumerate(reader.seeds):
        (corpus / str(number)).write_bytes(seed)
    lines = ("".join(f"\\x{byte:02x}" for byte in word) for word in (*COMMON_WORDS, *reader.words))
    words.write_text("".join(f'"{line}"\n' for line in lines))
    return [str(corpus), f"-dict={words}"]


def _flags(limits: Limits) -> list[str]:
    """Return libFuzzer's flags of a search."""
    return [
        f"-max_total_time={limits.seconds}",
        f"-timeout={limits.case_seconds}",
        f"-seed={limits.seed + 1}",  # zero is another seed each time
        f"-max_len={MOST_BYTES}",
        "-entropic_scale_per_exec_time=1",  # inputs that run fast are changed more often
        "-print_final_stats=1",
    ]


def _fork(reader: Reader, folder: Path, arguments: Sequence[str], log: Path | None = None) -> int:
    """Return the id of a process that runs libFuzzer in a folder, and writes what it prints to the log."""
    if (process := os.fork()) != 0:
        return process
    try:
        os.chdir(folder)
        if log is not None:
            file = os.open(log, os.O_CREAT | os.O_WRONLY)
            os.dup2(file, 1)
            os.dup2(file, 2)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MOST_MEMORY,) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        # The system refuses memory to the statement that asks for it, which libFuzzer's own limit would not name.
        flags = [*arguments, "-rss_limit_mb=0"]
        atheris.Setup(["fuzz-readers", *flags], reader.accept, custom_mutator=_mutate)
        atheris.Fuzz()  # ends the process, but for an exception of the reader
    except SystemExit:
        # The C library's exit lets libFuzzer write the input, and cleans up nothing that is the parent's.
        ctypes.PyDLL(None).exit(1)
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(1)


def _mutate(data: bytes, most: int, seed: int) -> bytes:
    """Return data as libFuzzer changes it, or now and then with one part many times: what is nested, or long."""
    random = Random(seed)
    if random.random() > 0.01:
        return atheris.Mutate(data, most)
    begin = random.randrange(len(data) + 1)
    part = data[begin : begin + random.randrange(1, 20)]
    return (data[:begin] + part * int(10 ** random.uniform(0.5, 4)) + data[begin:])[:most]


def _result(name: str, log: str, status: int) -> Result:
    counts = (
        int((re.findall(pattern, log) or [0])[-1])
        for pattern in (r"stat::number_of_executed_units: (\d+)", r"cov: (\d+)", r"corp: (\d+)")
    )
    if status == 0:
        return Result(name, *counts)
    found = FAILURE.search(log)
    text = f"exit status {status}\n{_shortened((found.group() if found else log[-2000:]).strip())}"
    written = re.findall(r"Test unit written to (.+)", log)
    return Result(name, *counts, text, Path(written[-1]) if written else None)


def _shortened(text: str) -> str:
    """Return a text without the middle of a traceback of many calls, or of a long message."""
    return text if len(text) <= 6000 else f"{text[:3000]}\n...\n{text[-3000:]}"
