"""Random Tensor Comprehensions, as many as time allows: the reference, the interpreter and the kernel agree.

    python -m tests.ragged.tc.fuzz --examples 10000 --seed 0 --jobs 2

Half of the statements have no ranges: what is refused has to be a `TcError`. Of the others all accesses are proven or
checked: where an index of the data is out of range, calls have to raise a `DataError`. One in twenty is compiled by the
default schedule, the others as they are written. Chunks run in processes of their own, so that a crash ends one chunk
alone. Exits with 1 if an example failed; each is printed with its seed.
"""

import argparse
import os
import re
import subprocess
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from ragged import tc
from ragged.errors import DataError
from tests.ragged.tc.random_programs import Writer, arguments, close
from tests.ragged.tc.reference import OutOfRange, evaluate, interpreted

SCHEDULED = 20
"""Of so many examples one has the default schedule."""


def failure(seed, *, scheduled):
    """Return what is wrong with an example, with its text; None if nothing is."""
    text = Writer(seed, without_ranges=0.5).text()
    try:
        check(text, seed, scheduled)
    except Exception:
        return f"seed {seed}, {'default schedule' if scheduled else 'no schedule'}: {text}\n{traceback.format_exc()}"
    return None


def check(text, seed, scheduled):
    """Raise if the results of a function differ, or an access is neither proven nor checked; it may be refused."""
    given = arguments(seed)
    try:
        function = tc.define(text).f
        function.infer(**{name: array.shape for name, array in zip(function.parameters, given, strict=True)})
    except tc.TcError as refusal:
        assert refusal.phase in ("check", "range", "call") and refusal.line >= 0, refusal
        return
    kernel = function.compile(schedule="default" if scheduled else None, cache=False, threads=2)
    try:
        wanted = evaluate(function, *given)
    except OutOfRange as outside:
        for run in (partial(interpreted, function), kernel):
            refuses(run, given, outside)
        return
    accesses, *sorts = map(int, re.findall(r"\d+", function.show("checks").splitlines()[0]))
    assert accesses == sum(sorts), function.show("checks")
    close(interpreted(function, *given), wanted, text)
    found = kernel(*given)
    close(found if isinstance(found, dict) else {next(iter(wanted)): found}, wanted, text)


def refuses(run, given, outside):
    """Raise unless a call says that an index of the data is out of range."""
    try:
        run(*given)
    except DataError:
        return
    raise AssertionError(f"{outside} is read")


def chunk(first, count):
    """Run examples in this process; return how many failed."""
    found = [failure(seed, scheduled=seed % SCHEDULED == 0) for seed in range(first, first + count)]
    wrong = [each for each in found if each is not None]
    print(*wrong, sep="\n", flush=True)
    return len(wrong)


def apart(first, count):
    """Run examples in a process of their own; return how many failed, all of them if it ended otherwise."""
    command = [sys.executable, "-m", __spec__.name, "--only", str(first), "--chunk", str(count)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "RAGGED_CACHE_DIR": ""}
    )
    print(done.stdout.strip(), end="\n" if done.stdout.strip() else "", flush=True)
    if done.returncode not in range(count + 1) or (done.returncode and "seed" not in done.stdout):
        print(
            f"seeds {first} to {first + count - 1}: the process ended: {done.returncode}\n{done.stderr}",
            flush=True,
        )
        return count
    return done.returncode


def main(given=None):
    """Search, or run one chunk; return how many chunks of examples failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--examples", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="another seed draws other examples")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin nothing after so many")
    parser.add_argument("--chunk", type=int, default=50, help="examples of a process")
    parser.add_argument("--only", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(given)
    if options.only is not None:
        return chunk(options.only, options.chunk)
    begin, end = options.seed * 1_000_000, time.monotonic() + 60 * options.minutes
    starts = range(begin, begin + options.examples, options.chunk)

    def one(first):
        count = min(options.chunk, begin + options.examples - first)
        return (count, apart(first, count)) if time.monotonic() < end else (0, 0)

    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(one, starts))
    done, failed = (sum(each) for each in zip(*results, strict=True))
    print(f"{done} examples, {failed} failed")
    return min(1, failed)


if __name__ == "__main__":
    sys.exit(main())
