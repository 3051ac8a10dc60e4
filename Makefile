# For users: `make demo` and `make test`. The other targets are described in CONTRIBUTING.md.

PYTHON ?= python3
FUZZ_SECONDS ?= 300
CASES ?= 10000000
MINUTES ?= inf
SANITIZED ?= tests
VENV := .venv
BIN := $(VENV)/bin

# Every file and folder that goes into the package: a change to one of them rebuilds what changed of it. The build tools
# are installed in the virtual environment, not in a new place for every build, so that the C++ build is incremental.
SOURCES := pyproject.toml CMakeLists.txt README.md LICENSE \
  $(shell find cpp examples kernels python \( -name fuzz -o -name '*.so' -o -name '.*_cache' -o -name __pycache__ \) -prune -o -print)
BUILD_REQUIRES := $(shell sed -n 's/", "/" "/g; s/^requires = \[\(.*\)\]$$/\1/p' pyproject.toml)
CPP_FILES = $(shell find benchmarks cpp kernels tests -name third_party -prune -o \( -name '*.[ch]pp' -o -name '*.[ch]' -o -name '*.cuh' \) -print)
WHEEL := $(VENV)/wheel
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
INSTALL := $(PIP) --no-build-isolation
PYTEST := $(BIN)/python -m pytest
# A file's tests run in one process: what they share is compiled, or opened, once. tests/conftest.py orders the files.
PARALLEL := -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

.PHONY: demo docs notebooks test cases lint format types stubs stubs-check wheel-check wheel-twice portable-check page page-check bench fuzz sanitize tsan nightly clean
.DELETE_ON_ERROR:

demo: $(VENV)/installed
	@$(BIN)/python -m tilewright demo

test: $(VENV)/installed $(VENV)/extra-test
	@$(PYTEST) $(PARALLEL) --durations=20

# The site in build/docs/html: its notebooks and examples run, and its links are followed. A warning is an error.
docs: $(VENV)/installed $(VENV)/extra-test $(VENV)/extra-docs
	@rm -rf build/docs
	@$(BIN)/python -m sphinx -W --keep-going --quiet -j auto -d build/docs/doctrees docs build/docs/html
	@$(PYTEST) -q -m "site or not site" tests/docs/test_site.py tests/docs/test_reference.py
	@echo "open build/docs/html/index.html"

# The executed notebooks of the repository, which a forge shows; they are those of the site.
notebooks: docs
	@mkdir -p docs/notebooks/executed && rm -f docs/notebooks/executed/*.ipynb
	@cp build/docs/html/notebooks/*.ipynb docs/notebooks/executed/

lint: $(VENV)/extra-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	PYTHONPATH=python $(BIN)/lint-imports --no-cache
	$(BIN)/clang-format --dry-run -Werror $(CPP_FILES)

format: $(VENV)/extra-dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/clang-format -i $(CPP_FILES)

types: $(VENV)/extra-dev
	$(BIN)/mypy

stubs: $(VENV)/installed $(VENV)/extra-dev
	$(BIN)/python scripts/stubs.py

stubs-check: $(VENV)/installed $(VENV)/extra-dev
	$(BIN)/python scripts/stubs.py --check

# The wheel that is installed in the virtual environment: the one that was tested.
wheel-check: $(VENV)/installed
	$(BIN)/python scripts/check_wheel.py $(WHEEL)

# Two builds of the wheel and of the source distribution have the same bytes.
wheel-twice: $(VENV)/tools
	$(PIP) build==1.5.0
	$(BIN)/python scripts/check_reproducible.py

# Without what only GCC and clang have, as compilers of Windows build it.
portable-check: $(VENV)/tools
	$(BIN)/python scripts/cross_check.py portable --seconds 2

# The C++ core for the interactive page; scripts/build_page.py says what it needs.
page: $(VENV)/tools
	$(BIN)/python scripts/build_page.py

page-check: $(VENV)/tools
	$(BIN)/python scripts/build_page.py --check

bench: $(VENV)/installed $(VENV)/extra-bench
	$(BIN)/python benchmarks/algebra.py
	$(BIN)/python benchmarks/analysis.py
	$(BIN)/python benchmarks/package.py
	$(BIN)/python benchmarks/page.py
	$(BIN)/python benchmarks/host_copy.py
	$(BIN)/python benchmarks/host_gemm.py

nightly: $(VENV)/installed $(VENV)/extra-test
	$(PYTEST) $(PARALLEL) -m "not gpu and not site" --hypothesis-profile=nightly

# Each kind of random case of the algebra; a run goes on where the last one ended.
cases: $(VENV)/installed $(VENV)/extra-test
	@$(BIN)/python scripts/random_cases.py --cases $(CASES) --minutes $(MINUTES)

# The core alone, with a main of its own: no Python and no libFuzzer needed.
fuzz: $(VENV)/tools
	$(BIN)/cmake -S . -B build/fuzz -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja \
	  -DCMAKE_BUILD_TYPE=RelWithDebInfo -DTILEWRIGHT_FUZZ=ON -DTILEWRIGHT_SANITIZE=ON
	$(BIN)/cmake --build build/fuzz --target tilewright_fuzz
	build/fuzz/tilewright_fuzz $(FUZZ_SECONDS)

# The Python module under the same sanitizers, in a folder of its own. test_package.py measures the release build.
sanitize: $(VENV)/installed $(VENV)/extra-test
	SKBUILD_BUILD_DIR=build/sanitize SKBUILD_CMAKE_BUILD_TYPE=RelWithDebInfo SKBUILD_CMAKE_DEFINE=TILEWRIGHT_SANITIZE=ON \
	  $(INSTALL) --upgrade --no-deps --target build/sanitize-site .
	PYTHONPATH=build/sanitize-site ASAN_OPTIONS=detect_leaks=0 \
	  LD_PRELOAD="$$($${CXX:-c++} -print-file-name=libasan.so) $$($${CXX:-c++} -print-file-name=libstdc++.so)" \
	  $(PYTEST) --hypothesis-profile=dev --ignore tests/package/test_package.py $(SANITIZED)

# 8 threads at once, with the module under ThreadSanitizer, and the interpreter, too, where clang built it with
# --disable-gil --with-thread-sanitizer: `make tsan PYTHON=python3.14t VENV=.venv-t CXX=clang++ TSAN_PRELOAD=`.
TSAN_PRELOAD ?= $$($${CXX:-c++} -print-file-name=libtsan.so)
tsan: export TSAN_OPTIONS := report_bugs=0
tsan: $(VENV)/tools
	$(PIP) numpy
	SKBUILD_BUILD_DIR=build/tsan SKBUILD_CMAKE_BUILD_TYPE=RelWithDebInfo SKBUILD_CMAKE_DEFINE=TILEWRIGHT_TSAN=ON \
	  $(INSTALL) --upgrade --no-deps --target build/tsan-site .
	PYTHONPATH=build/tsan-site LD_PRELOAD="$(TSAN_PRELOAD)" \
	  TSAN_OPTIONS="suppressions=$(CURDIR)/scripts/tsan.txt exitcode=66" \
	  setarch -R $(BIN)/python scripts/stress_threads.py

clean:
	rm -rf $(VENV) build docs/examples docs/performance docs/project docs/reference

# Stamps: each file says when its step was last done.
$(VENV)/tools: scripts/check_machine.py pyproject.toml
	@$(PYTHON) scripts/check_machine.py
	@echo "== virtual environment $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) $(BUILD_REQUIRES) "cmake>=3.20" ninja
	@touch $@

$(VENV)/built: $(VENV)/tools $(SOURCES)
	@echo "== building tilewright (the first time takes a few minutes)"
	@rm -rf $(WHEEL)
	@SKBUILD_BUILD_DIR=build/release $(BIN)/python -m pip wheel --quiet --disable-pip-version-check \
	  --no-build-isolation --no-deps --wheel-dir $(WHEEL) .
	@touch $@

$(VENV)/installed: $(VENV)/built
	@echo "== installing tilewright"
	@$(BIN)/python -m pip uninstall -qq --yes tilewright # pip keeps an installed wheel of the same version
	@$(PIP) $(WHEEL)/*.whl
	@touch $@

$(VENV)/extra-%: $(VENV)/tools scripts/requirements.py pyproject.toml
	@echo "== installing what the extra '$*' asks for"
	@$(BIN)/python scripts/requirements.py $* > $(VENV)/$*.txt
	@$(PIP) -r $(VENV)/$*.txt
	@touch $@
