"""Tests of one run share kernels and answers of the solver, except while one of them has patched an attribute."""

import os

import pytest

import cortex
from cortex import models
from ragged.compiled import kernel_cache
from ragged.compiled.kernel_cache import cache_folder
from ragged.prove.answers import Proof
from ragged.prove.shared_answers import SHARED_ANSWERS

MODEL = models.tree_sum(hidden=3, vocab=5)


def test_a_kernel_is_compiled_once_for_all_tests_of_a_run(caplog):
    assert str(cache_folder()) == os.environ["CORTEX_TESTS_CACHE"]
    with caplog.at_level("INFO", "ragged.cache"):
        for _ in range(2):
            cortex.compile(MODEL, MODEL.init_params(), threads=1)
    assert caplog.messages[-1].startswith("hit ")


def test_a_test_that_patches_an_attribute_compiles_for_itself():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_cache, "LIMIT", 0)
        assert cache_folder() is None
    assert str(cache_folder()) == os.environ["CORTEX_TESTS_CACHE"]


@pytest.mark.parametrize("caches", ["of the run", "of the test"])
def test_a_test_that_patches_an_attribute_shares_no_answers(caches, request):
    """They may be those of a prover that it patched."""
    if caches == "of the test":
        request.getfixturevalue("cache_dir")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_cache, "LIMIT", 0)
        SHARED_ANSWERS.put(b"of this test", (), Proof(frozenset()))
        assert list(SHARED_ANSWERS.found) == [b"of this test"]
    assert SHARED_ANSWERS.get(b"of this test", ()) is None
