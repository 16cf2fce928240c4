# Every target sets up what it needs in .venv; a second run finds it there.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
# The version that the tests compare with. On Linux its stock build brings CUDA along; for the smaller one set
# PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu
TORCH := torch==2.13.0
# The extension is built by these two, once and then only where a source changed.
BUILD_TOOLS := cmake ninja
BUILD_REQUIRES = $(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")'
BUILT_FROM := pyproject.toml CMakeLists.txt $(shell find ragged cortex -path '*/native/*' -type f)
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# glibc takes large pages for the solver's memory, which each question fills anew, and has fewer of them to ask for.
PYTEST := GLIBC_TUNABLES=glibc.malloc.hugetlb=1 $(BIN)/python -m pytest
PYTEST_ARGS :=
# A version after 3.11, in an environment of its own: what depends on how CPython keeps objects, and what reads them.
NEWER := build/newer-python
NEWER_TESTS := tests/linearize tests/ragged/data tests/compiler/test_in_place.py --ignore tests/linearize/test_facts.py
# Processes that tests start read the bytecode of those before them, wherever an environment says to write none.
unexport PYTHONDONTWRITEBYTECODE
SOAK_ARGS :=
FUZZ_ARGS :=
FUZZ_READERS_ARGS :=
BENCH_ARGS := --json build/bench.json --plot build/bench.png
# All peers but those that would compile each model for seconds.
PERFORMANCE_PEERS := cortex,cortex-bf16,dynet,torch-nodes,torch-levels,torch-onednn,torch-rnn,numpy,onednn,onednn-bf16
PERFORMANCE_ARGS := --batches 1,10 --rounds 4 --repeats 7,3 --peers $(PERFORMANCE_PEERS)
SIZES_ARGS := --workloads tree_lstm --hidden 64,128,150,250,256,300,512,1024 --batches 10 --rounds 3 --repeats 5 --peers cortex,onednn
GROWTH_ARGS := --workloads tree_lstm_recursive --hidden 256 --batches 1,10,100,1000 --rounds 3 --repeats 5,3,2 \
	--peers cortex,torch-levels,numpy,onednn
THREADS_ARGS := --workloads tree_lstm,mv_rnn --batches 1,10 --rounds 3 --repeats 5,3 --peers cortex,onednn
# All sets of lengths; then large batches, and rows of widths that no vector divides.
RAGGED_BATCHES_ARGS := --operators encoder_layer --sets cola,mnli,squad,race --batches 64,128 --rounds 1 \
	--peers ragged,torch-padded,torch-nested,onednn-packed
RAGGED_WIDTHS_ARGS := --operators encoder_layer,linear --sets mnli,squad --widths 150,300 --peers ragged,torch-padded,onednn-packed
RAGGED_THREADS_ARGS := --operators vgemm,trmm,attention,encoder_layer --sets race,random --rounds 2 --peers ragged
SEQUENCES_ARGS := --workloads lstm,gru,gru_reset_after --batches 1,10 --rounds 3 --repeats 5,3 --peers $(PERFORMANCE_PEERS)
TC_ARGS := --json build/tc.json --plot docs/evidence/tensor_comprehensions.png --page docs/evidence/tensor_comprehensions.md
SHAPES_ARGS := --json build/shapes.json --plot docs/evidence/dynamic_shapes.png --page docs/evidence/dynamic_shapes.md
PERFORMANCE_FILES := performance sizes growth one-thread all-threads sequences ragged ragged-batches ragged-widths \
	ragged-one-thread ragged-all-threads scaling linearizing memory optimizations gains prelude padding

.PHONY: help demo test thorough arm lint bench bench-shapes bench-tc performance soak fuzz fuzz-tc sanitize mutants format clean

help: ## Say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/ready-to-run ## Compile TreeLSTM and MV-RNN, run them over the sample treebank, check every root
	@$(BIN)/cortex demo

test: $(VENV)/ready-to-test ## Run the tests (PYTEST_ARGS='-k name' to choose)
ifeq ($(strip $(PYTEST_ARGS)),)
	@$(PYTEST) --numprocesses auto --dist worksteal --durations=10 -m 'not alone and not thorough and not arm'
	@$(PYTEST) -m 'alone and not thorough and not arm'
else
	@$(PYTEST) $(PYTEST_ARGS)
endif

thorough: $(VENV)/ready-to-test ## Run all tests, those too that compile for minutes
	@$(PYTEST) --numprocesses auto --dist worksteal -m 'not alone and not arm'
	@$(PYTEST) -m alone

.PHONY: newer-python
newer-python: $(VENV)/made ## Run the tests of inputs on a Python after 3.11, if there is one (PYTHON=python3.13)
	@if python=$$(tools/find_python.sh --newer); then $(MAKE) --no-print-directory $(NEWER)/ready NEWER_PYTHON=$$python && \
		$(NEWER)/bin/python -m pytest --numprocesses auto --dist worksteal -m 'not thorough' $(NEWER_TESTS); \
	else echo "newer-python: ran nothing"; fi

.PHONY: fuzz-readers
fuzz-readers: $(VENV)/ready-to-test ## Read inputs that coverage guides, for ten minutes of all processes together
	@$(BIN)/python -m tests.fuzz_readers $(FUZZ_READERS_ARGS)

arm: $(VENV)/ready-to-test ## Compile for aarch64, run in an emulator, compare (needs qemu-user, g++-aarch64-linux-gnu)
	@$(PYTEST) --numprocesses auto --dist worksteal -m arm

lint: $(VENV)/ready-to-test ## Check style, words, layers and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python tools/lint_words.py
	@$(BIN)/lint-imports
	@$(BIN)/mypy

bench: $(VENV)/ready-to-bench ## Measure recursive models against other libraries (BENCH_ARGS='--workloads tree_fc')
	@mkdir -p build
	@$(BIN)/python -m bench.recursive $(BENCH_ARGS)

bench-shapes: $(VENV)/ready-to-bench ## Measure dynamic shapes for a quarter of an hour, and write docs/evidence/dynamic_shapes.md
	@mkdir -p build
	@$(BIN)/python -m bench.shapes $(SHAPES_ARGS)

bench-tc: $(VENV)/ready-to-bench ## Measure Tensor Comprehensions for half an hour, and write docs/evidence/tensor_comprehensions.md
	@mkdir -p build
	@$(BIN)/python -m bench.tc $(TC_ARGS)

performance: $(VENV)/ready-to-bench ## Measure models and ragged operators for three quarters of an hour, and write docs/evidence/performance.md
	@mkdir -p build
	@rm -f $(PERFORMANCE_FILES:%=build/%.json)
	@-$(BIN)/python -m bench.recursive $(PERFORMANCE_ARGS) --json build/performance.json
	@-$(BIN)/python -m bench.recursive $(SIZES_ARGS) --json build/sizes.json
	@-$(BIN)/python -m bench.recursive $(GROWTH_ARGS) --json build/growth.json
	@-$(BIN)/python -m bench.recursive $(THREADS_ARGS) --threads 1 --json build/one-thread.json
	@-$(BIN)/python -m bench.recursive $(THREADS_ARGS) --json build/all-threads.json
	@-$(BIN)/python -m bench.recursive $(SEQUENCES_ARGS) --json build/sequences.json
	@-$(BIN)/python -m bench.ragged --json build/ragged.json
	@-$(BIN)/python -m bench.ragged $(RAGGED_BATCHES_ARGS) --json build/ragged-batches.json
	@-$(BIN)/python -m bench.ragged $(RAGGED_WIDTHS_ARGS) --json build/ragged-widths.json
	@-$(BIN)/python -m bench.ragged $(RAGGED_THREADS_ARGS) --threads 1 --json build/ragged-one-thread.json
	@-$(BIN)/python -m bench.ragged $(RAGGED_THREADS_ARGS) --json build/ragged-all-threads.json
	@$(BIN)/python -m bench.scaling --json build/scaling.json
	@$(BIN)/python -m bench.linearize --json build/linearizing.json
	@$(BIN)/python -m bench.memory --json build/memory.json
	@$(BIN)/python -m bench.optimizations --json build/optimizations.json
	@$(BIN)/python -m bench.gains --json build/gains.json
	@$(BIN)/python -m bench.prelude --json build/prelude.json
	@$(BIN)/python -m bench.padding --json build/padding.json
	@$(BIN)/python -m bench.performance build/performance.json --sizes build/sizes.json --growth build/growth.json \
		--threads build/one-thread.json build/all-threads.json --sequences build/sequences.json \
		--linearizing build/linearizing.json --memory build/memory.json --gains build/optimizations.json \
		--ragged build/ragged.json build/ragged-batches.json build/ragged-widths.json \
		--ragged-threads build/ragged-one-thread.json build/ragged-all-threads.json --variations build/gains.json \
		--scaling build/scaling.json --tables build/prelude.json --padding build/padding.json

soak: $(VENV)/ready-to-run ## Call a model a million times; fails if memory grows or anything stays behind
	@$(BIN)/python -m bench.soak $(SOAK_ARGS)

fuzz: $(VENV)/ready-to-test ## Draw 10,000 models, structures and schedules (FUZZ_ARGS='--seed 1 --jobs 8 --minutes 60')
	@$(BIN)/python -m tests.fuzz $(FUZZ_ARGS)

fuzz-tc: $(VENV)/ready-to-test ## Draw 10,000 Tensor Comprehensions (FUZZ_ARGS='--seed 1 --jobs 8 --minutes 60')
	@$(BIN)/python -m tests.ragged.tc.fuzz $(FUZZ_ARGS)

sanitize: $(VENV)/ready-to-test ## Run native code under AddressSanitizer, UBSan and ThreadSanitizer (needs g++)
	@$(BIN)/python -m tests.sanitize

mutants: $(VENV)/ready-to-test ## Change primitives and passes, one place at a time (MUTANTS_ARGS='--file FILE --sample 20')
	@$(BIN)/python -m tests.mutants $(MUTANTS_ARGS)

format: $(VENV)/ready-to-test ## Format the code
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

clean: ## Remove all that make has made
	rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/made:
	@python=$$(tools/find_python.sh) && echo "making $(VENV) with $$python" && "$$python" -m venv $(VENV)
	@$(BUILD_REQUIRES) > $(VENV)/build-requires.txt
	@$(PIP_INSTALL) $(BUILD_TOOLS) --requirement $(VENV)/build-requires.txt
	@touch $@

$(VENV)/ready-to-run: $(VENV)/made $(BUILT_FROM)
	@echo "installing what cortex runs on and building its extension (minutes, the first time)"
	@$(PIP_INSTALL) --no-build-isolation --editable .
	@touch $@

$(VENV)/ready-to-bench: $(VENV)/made $(BUILT_FROM)
	@echo "installing the libraries to measure against and building the extension (minutes, the first time)"
	@$(PIP_INSTALL) --no-build-isolation --editable '.[bench]' '$(TORCH)'
	@touch $(VENV)/ready-to-run $@

# The tests run the benchmarks too, small.
$(VENV)/ready-to-test: $(VENV)/made $(BUILT_FROM)
	@echo "installing what the tests need and building the extension (minutes, the first time)"
	@$(PIP_INSTALL) --no-build-isolation --editable '.[dev,bench]' '$(TORCH)'
	@touch $(VENV)/ready-to-run $(VENV)/ready-to-bench $@

# No torch: the tests that need it are left out.
$(NEWER)/ready: $(BUILT_FROM)
	@echo "making $(NEWER) with $(NEWER_PYTHON)"
	@rm -rf $(NEWER) && mkdir -p build && $(NEWER_PYTHON) -m venv $(NEWER)
	@$(NEWER)/bin/python -m pip install --quiet --disable-pip-version-check $(BUILD_TOOLS) --requirement $(VENV)/build-requires.txt
	@$(NEWER)/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable '.[test]'
	@touch $@
