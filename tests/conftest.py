"""What every test can rely on: deterministic property tests, and golden files that one flag renews."""

import atexit
import gc
import os
import re
import shutil
import signal
import tempfile
from collections import OrderedDict
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis.internal.conjecture import providers

from ragged.compiled.target_machine import keep_rates
from ragged.machine import this_machine
from ragged.prove.shared_answers import SHARED_ANSWERS
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

    So are the answers that programs share: those of a patched prover are for that test alone. Pytest patches its own
    configuration, for as long as it runs.
    """
    if not isinstance(args[0], pytest.Config):
        _patch(patch, SHARED_ANSWERS, "found", OrderedDict())
        for variable in CACHES:
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
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None, max_examples=30)
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

# Left to `make thorough`: further sizes, threads and models of what other parameters of the same test compare, and
# commands of the benchmark that compile for half a minute, of which each part has a test.
FURTHER = (
    "bench/test_compile.py::test_compiling_takes_no_more_than_was_recorded[dense_16]",
    "bench/test_compile.py::test_compiling_takes_no_more_than_was_recorded[gru]",
    "bench/test_compile.py::test_compiling_takes_no_more_than_was_recorded[mv_rnn_64]",
    "bench/test_compile.py::test_compiling_takes_no_more_than_was_recorded[nary_tree_lstm_6]",
    "bench/test_compile.py::test_compiling_takes_no_more_than_was_recorded[simple_tree_gru]",
    "bench/test_compile.py::test_compiling_takes_no_more_than_was_recorded[tree_lstm_64]",
    "bench/test_compile.py::test_compiling_takes_no_more_than_was_recorded[tree_rnn]",
    "bench/test_gains.py::test_every_operator_has_its_variants",
    "bench/test_gains.py::test_the_json_has_what_the_documents_say",
    "bench/test_gains.py::test_the_table_names_every_variant",
    "bench/test_optimizations.py::test_the_command",
    "bench/test_ragged.py::test_batches_and_widths",
    "bench/test_ragged.py::test_ours_is_measured_by_the_same_rules",
    "bench/test_ragged.py::test_prelude",
    "bench/test_scaling.py::test_the_command",
    "bench/test_tc.py::test_gradients_have_the_numbers_of_pytorch",
    "bench/test_tc.py::test_libraries_have_the_same_answers[torch-compiled]",
    "bounds/test_checks_of_the_models.py::test_every_check_is_proven_and_none_is_left[tree_gru]",
    "compiler/test_artifact.py::test_what_is_loaded_is_what_was_saved[mv_rnn]",
    "compiler/test_equations.py::test_binary_models[tree_fc_tanh]",
    "compiler/test_equations.py::test_tree_lstm[tree_lstm_vector]",
    "compiler/test_key.py::test_what_the_key_holds_of_a_program_determines_the_code[mv_rnn-",
    "compiler/test_library.py::test_a_batch_that_mixes_one_node_with_ten_thousand[gru]",
    "compiler/test_library.py::test_a_batch_that_mixes_one_node_with_ten_thousand[nary_tree_lstm]",
    "compiler/test_library.py::test_a_batch_that_mixes_one_node_with_ten_thousand[simple_tree_gru]",
    "compiler/test_library.py::test_a_batch_that_mixes_one_node_with_ten_thousand[tree_gru]",
    "compiler/test_library.py::test_a_batch_that_mixes_one_node_with_ten_thousand[tree_rnn]",
    "compiler/test_matrices.py::test_results[mv_rnn-12-2]",
    "compiler/test_matrices.py::test_results[mv_rnn-4-1]",
    "compiler/test_matrices.py::test_the_same_bits[mv_rnn-20-nodes-float32]",
    "compiler/test_matrices.py::test_the_same_bits[two_sided-32-roots-bf16]",
    "compiler/test_precision.py::test_a_matrix_unit_gives_the_same_bits_for_any_batch_and_threads[mv_rnn]",
    "compiler/test_precision.py::test_a_matrix_unit_gives_the_same_bits_for_any_batch_and_threads[tree_gru]",
    "compiler/test_precision.py::test_the_error_is_that_of_rounded_factors[tree_gru]",
    "compiler/test_precision.py::test_the_error_is_that_of_rounded_factors[tree_lstm]",
    "compiler/test_recycled.py::test_roots_are_what_they_are_where_all_nodes_are_kept[nary_tree_lstm-2]",
    "compiler/test_recycled.py::test_roots_are_what_they_are_where_all_nodes_are_kept[tree_gru-2]",
    "compiler/test_threads.py::test_the_same_bits_by_nodes_and_by_columns[3-",
    "compiler/test_threads.py::test_the_same_bits_for_any_number_of_threads[mv_rnn]",
    "ra/test_heads.py::test_compiled[dags]",
    "ra/test_primitives.py::test_all_that_is_legal_together_agrees_compiled[tree_lstm word Tree]",
    "ra/test_unroll.py::test_tops_are_shared_out[tree_fc-1]",
    "ragged/ops/test_attention.py::test_all_that_is_between_is_kept_for_one_tile_and_one_head[bias]",
    "ragged/ops/test_attention.py::test_cross_attention[17-17]",
    "ragged/ops/test_attention.py::test_cross_attention[24-24]",
    "ragged/ops/test_attention.py::test_scaled_dot_product_attention[1-17-False]",
    "ragged/ops/test_attention.py::test_scaled_dot_product_attention[2-1-False]",
    "ragged/ops/test_attention.py::test_scaled_dot_product_attention[3-8-True]",
    "ragged/ops/test_dtypes.py::test_attention[causal-bfloat16]",
    "ragged/ops/test_dtypes.py::test_attention[causal-float16]",
    "ragged/ops/test_dtypes.py::test_attention[in a window-bfloat16]",
    "ragged/ops/test_dtypes.py::test_attention[in a window-float16]",
    "ragged/ops/test_dtypes.py::test_products_of_different_sizes[float16]",
    "ragged/ops/test_dtypes.py::test_triangles[1-1-float16]",
    "ragged/ops/test_encoder.py::test_encoder_layer[24-3-17-options1]",
    "ragged/ops/test_from_torch.py::test_attention[options1]",
    "ragged/ops/test_from_torch.py::test_attention[options2]",
    "ragged/ops/test_from_torch.py::test_encoder_layer[options1]",
    "ragged/ops/test_from_torch.py::test_encoder_layer[options2]",
    "ragged/ops/test_primitives.py::test_primitives_in_an_operator[causal attention]",
    "ragged/ops/test_primitives.py::test_primitives_in_an_operator[cross attention]",
    "ragged/ops/test_primitives.py::test_primitives_in_an_operator[encoder layer]",
    "ragged/ops/test_primitives.py::test_primitives_in_an_operator[sdpa over triangles]",
    "ragged/ops/test_products.py::test_the_work_of_products_is_shared_out_by_panels[sizes0-2]",
    "ragged/ops/test_products.py::test_the_work_of_products_is_shared_out_by_panels[sizes0-3]",
    "ragged/ops/test_widths.py::test_results_have_the_same_bits_for_all_widths[attention in a window]",
    "ragged/ops/test_widths.py::test_results_have_the_same_bits_for_all_widths[encoder layer]",
    "recursive_tc/test_models.py::test_models_of_the_library_have_the_same_bits[model1-",
)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no other files where tests that run alone are asked for: importing all takes a quarter of a minute."""
    others = collection_path.suffix == ".py" and not os.path.relpath(collection_path, TESTS).startswith(ALONE)
    return True if others and config.option.markexpr.startswith("alone") else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    names = [f"{os.path.relpath(item.path, TESTS)}::{item.name}" for item in items]
    for item, name in zip(items, names, strict=True):
        if name.startswith(ALONE):
            item.add_marker(pytest.mark.alone)
        if name.startswith(FURTHER):
            item.add_marker(pytest.mark.thorough)
    files = (
        {name.split("::")[0] for name in names} if not any("::" in each for each in config.args) else set()
    )
    none = [
        each
        for each in FURTHER
        if each.split("::")[0] in files and not any(n.startswith(each) for n in names)
    ]
    if none:
        raise pytest.UsageError(f"`FURTHER` names no test with {none[0]!r}")
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
