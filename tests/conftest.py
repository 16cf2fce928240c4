"""What every test can rely on: deterministic property tests, and golden files that one flag renews."""

import atexit
import gc
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis.internal.conjecture import providers

from ragged.compiled.target_machine import keep_rates
from ragged.machine import this_machine
from ragged.runtime import executable
from tests.support.golden import check_golden

TESTS = Path(__file__).resolve().parent

# Kernels are shared within one run: a cache of the run's own, which the processes of pytest-xdist inherit. A test
# that patches attributes compiles without it (`patch_without_cache`); those of the cache itself ask for `cache_dir`.
CACHES = ("CORTEX_CACHE_DIR", "RAGGED_CACHE_DIR")
if "CORTEX_TESTS_CACHE" not in os.environ:
    os.environ["CORTEX_TESTS_CACHE"] = tempfile.mkdtemp(prefix="cortex-tests-")
    atexit.register(shutil.rmtree, os.environ["CORTEX_TESTS_CACHE"], ignore_errors=True)
    # Schedules depend on rates: stated ones, which no load of the machine changes.
    keep_rates(Path(os.environ["CORTEX_TESTS_CACHE"]), this_machine().rates)
for variable in CACHES:
    os.environ[variable] = os.environ["CORTEX_TESTS_CACHE"]

# Programs have no reference cycles: looking for some after each 700 objects, as Python does, takes a tenth of the time.
# A test that needs a collection asks for it with `gc.collect()`.
gc.set_threshold(100_000, 20, 20)

_patch = pytest.MonkeyPatch.setattr


def patch_without_cache(patch: pytest.MonkeyPatch, *args: Any, **kwargs: Any) -> None:
    """Patch an attribute, and compile without the run's cache until it is undone: it may be the compiler's.

    Pytest patches its own configuration, for as long as it runs.
    """
    for variable in CACHES if not isinstance(args[0], pytest.Config) else ():
        if os.environ.get(variable) == os.environ["CORTEX_TESTS_CACHE"]:
            patch.setenv(variable, "")
    _patch(patch, *args, **kwargs)


pytest.MonkeyPatch.setattr = patch_without_cache

# Tests in the background may ignore Ctrl-C, and the processes that they start: some send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# "ci", the default, draws the same examples in every run; `--hypothesis-profile=search` looks for new ones. Hypothesis
# mixes in constants of the local modules that a process has imported by then, which are others in each worker.
providers._get_local_constants = lambda: providers._local_constants
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None, max_examples=50)
hypothesis.settings.register_profile("search", deadline=None, max_examples=1000)
hypothesis.settings.load_profile("ci")


# Without torch, as on versions of Python that the tests' version of it is not built for, what imports it is left out.
WITH_TORCH = re.compile(r"^(?:import|from) (?:torch|bench|tests\.ragged\.data\.illegal)\b", re.MULTILINE)
collect_ignore: list[str] = []
if find_spec("torch") is None:
    collect_ignore += [
        str(path) for path in TESTS.rglob("test_*.py") if WITH_TORCH.search(path.read_text(encoding="utf-8"))
    ]


def pytest_report_header() -> list[str]:
    return [f"without torch: {len(collect_ignore)} files of tests are left out"] if collect_ignore else []


# Tests of time, signals, and threads that spin or sleep: other processes at work would disturb them.
ALONE = (
    "ragged/runtime/test_fork.py",
    "ragged/runtime/test_processors.py",
    "ragged/runtime/test_signals.py",
    "ragged/runtime/test_team.py",
    "test_soak.py",
)
# Tests of tens of seconds come first: begun at the end, one of them would leave the other processors without work.
LONG = ("test_random", "bench", "test_documents.py", "ragged/ops/test_primitives.py")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no other files where tests that run alone are asked for: importing all takes a quarter of a minute."""
    others = collection_path.suffix == ".py" and not os.path.relpath(collection_path, TESTS).startswith(ALONE)
    return True if others and config.option.markexpr.startswith("alone") else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        path = os.path.relpath(item.path, TESTS)
        if path.startswith(ALONE):
            item.add_marker(pytest.mark.alone)
    items.sort(key=lambda item: not os.path.relpath(item.path, TESTS).startswith(LONG))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--renew-golden", action="store_true", help="write golden files anew instead of comparing"
    )


@pytest.fixture
def cache_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own that compiled kernels are cached in, by other processes that it starts as well."""
    folder = tmp_path / "cache"
    for front_end in ("CORTEX", "RAGGED"):
        monkeypatch.setenv(f"{front_end}_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that is loaded is a failure."""
    monkeypatch.setattr(executable, "Library", lambda code: pytest.fail("code was loaded"))


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden("name.txt", text)` compares `text` with the file golden/name.txt beside the test."""
    folder = Path(request.path).parent / "golden"
    renew = request.config.getoption("--renew-golden")
    return lambda name, text: check_golden(folder / name, text, renew=renew)
