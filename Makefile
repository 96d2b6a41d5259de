# Everything that a developer, an evaluator and CI run. `make help` lists it.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.ONESHELL:
# Tests start thousands of Pythons, each of which would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

BUDGET ?= quick
RUNS ?= 1000000
# Files of Python tests that run at the same time.
JOBS ?= 2
OUTPUT ?= output/artifacts
# Found here, not after minutes of installing.
ifeq ($(filter smoke quick paper,$(BUDGET)),)
$(error expected BUDGET=smoke, quick or paper, found "$(BUDGET)")
endif
# Where pip finds PyTorch besides its usual index: empty for the usual build, or the address of an index of CPU builds.
TORCH_INDEX ?=
# The lock fits Python 3.11 to 3.13; PyBullet is ready built for 3.11 only.
PYTHON ?= $(shell for version in 3.11 3.12 3.13; do python$$version -c '' 2>/dev/null && echo python$$version && break; done)

LOCK := requirements/torch.lock.txt
VENV := .venv
BIN := $(VENV)/bin
AT_ONCE := $(BIN)/pytest --numprocesses $(JOBS) --dist loadfile
# Tests that hold recorded times against stopwatches: nothing of ours runs beside them, and what else the machine does waits,
# where that is allowed.
FIRST := nice -n -20
TIMED := $(foreach test,oracles ranks lines,tests/integration/test_$(test).py)
TIMED_FRAMEWORKS := $(foreach test,jax tensorflow trl verl trainers,tests/frameworks/test_$(test).py)
ENVIRONMENT := $(VENV)/.environment
PACKAGE := $(VENV)/.package
BENCH_LOCK := requirements/bench.lock.txt
BENCH_VENV := .venv-bench
BENCH_PACKAGE := $(BENCH_VENV)/.package
# PyTorch with JAX, and TensorFlow: no process holds both. dm_control, which only tests use, needs an older MuJoCo.
FRAMEWORKS := pytorch tensorflow
STACKS := $(FRAMEWORKS) dm_control
# Other people's tests and trainings: `ci` for the part that CI runs, `all`, or names in tests/others/suites.toml. Their
# environment has what they need besides the packages of .venv.
SUITES ?= ci
OTHERS := .venvs/others
# d3rlpy wants another version of gym than the others do.
D3RLPY := .venvs/d3rlpy
# A driver of the headless browser in which the page is tested; it has the packages of .venv beside it, too.
PAGE := .venvs/page
# It checks the types that comments give in the page's scripts, and makes nothing.
TYPESCRIPT := 7.0.2
# Versions of Python besides that of `make test`, and the tests of recorder and hooks that need no big library.
PYTHONS ?= 3.10 3.12 3.13 3.14 3.15
RECORDER_TESTS := $(foreach test,layout_check hooks class_names scopes tasks timers tracing interception compiled_calls channels,tests/unit/test_$(test).py) \
	$(foreach test,startup class_shapes children lines memory,tests/integration/test_$(test).py)
# Programs of tests/frameworks and tests/gpu need packages that .venv lacks.
TYPED_TESTS := $(foreach part,unit integration adversary container scale others,tests/$(part)) $(wildcard tests/*.py)
# Each workload is checked with the packages of the environment that runs it.
WORKLOADS_MYPY := ../../$(BIN)/mypy --config-file mypy.ini --python-executable ../../.venvs
# Versions of Python that wheels are made for: all of them, or the command fails.
WHEEL_PYTHONS ?= 3.10 3.11 3.12 3.13 3.14 3.15
WHEELS := .venvs/wheels
# pyenv's, else the one on PATH, else of the versions that Debian 12 has no package of, one that is unpacked in build/.
FIND_PYTHON = prefix="$$(pyenv prefix $$version 2>/dev/null || true)"; python="$${prefix:+$$prefix/bin/}python$$version"; \
	"$$python" -c '' 2>/dev/null || python="$$($(PYTHON) scripts/get_python.py $$version || echo "$$python")"
# On a terminal pip shows what it downloads.
PIP_INSTALL = bin/pip install $(if $(MAKE_TERMOUT),--progress-bar on,--quiet)
# What run_docker.py needs on a host that has nothing else of ours.
DEPLOY := .venvs/deploy
# The site of the documents: its pages lie as in the checkout, so that links between them stay right.
DOCS := .venvs/docs
SITE := build/site
# Measures which lines and branches the tests reach, with the packages of .venv.
COVERAGE := .venvs/coverage
# Runs notebooks, with the packages of .venv.
NOTEBOOK := .venvs/notebook
NATIVE := build/native
# The simulators of case studies, for any Python.
SLOW_SIMULATOR := experiments/workloads/slow_simulator.abi3.so
CARTPOLE := experiments/workloads/cartpole/libcartpole.so
COMPILED := CMakeLists.txt pyproject.toml README.md LICENSE rlscope/version.py rlscope/trace/format.py $(shell find src cmake -type f -not -name '*.pyc') $(wildcard rlscope/analysis/swept*.py rlscope/analysis/*/swept.py)
SOURCES := $(COMPILED) $(shell find rlscope -type f -not -name '*.pyc' -not -name '*.so' -not -name built_from.json)

.PHONY: help setup build simulators install-experiments environments test test-py test-cpp test-frameworks test-others test-page test-pythons test-container test-scale fuzz artifacts check-claims bench guard rules forecasts field docs archive coverage wheels sdist test-wheels test-notebook lint clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 28
	@echo "  BUDGET=quick|paper, OUTPUT=DIR (artifacts, check-claims); RUNS=1000000 (fuzz); JOBS=2 (tests); SUITES=ci|all|NAME (test-others); PYTHONS="3.10 3.12" (test-pythons); WHEEL_PYTHONS="3.11 3.12" (wheels); TORCH_INDEX=ADDRESS, PYTHON=python3.11 (setup)"

setup: $(ENVIRONMENT) ## make .venv with the locked packages

build: $(PACKAGE) ## compile rlscope, so that .venv runs the checkout

simulators: $(SLOW_SIMULATOR) $(CARTPOLE) ## compile the simulators that case studies bring along

install-experiments: $(FRAMEWORKS:%=.venvs/%/.package) ## make .venvs/ for the case studies that compare frameworks (about 3 minutes)

test: test-py test-cpp ## run all tests

test-py: build ## run the Python tests
	$(FIRST) $(BIN)/pytest $(TIMED)
	$(AT_ONCE) $(TIMED:%=--ignore=%)

test-cpp: setup ## run the C++ tests under the address, undefined-behaviour and thread sanitizers
	prefix="$$(scripts/get_googletest.sh)"
	PATH="$(CURDIR)/$(BIN):$$PATH"
	for sanitizers in address,undefined thread; do
		build=$(NATIVE)/$${sanitizers%,*}
		cmake -S . -B "$$build" -G Ninja -DRLSCOPE_TESTS=ON -DRLSCOPE_SANITIZE=$$sanitizers -DCMAKE_PREFIX_PATH="$$prefix" >/dev/null
		cmake --build "$$build"
		ctest --test-dir "$$build" --output-on-failure --parallel $(JOBS)
	done

environments: $(ENVIRONMENT) $(STACKS:%=.venvs/%/.environment) $(OTHERS)/.environment $(D3RLPY)/.environment $(PAGE)/.environment $(DOCS)/.environment $(NOTEBOOK)/.environment ## make all environments of tests; with --jobs 2 two at a time

test-frameworks: build $(STACKS:%=.venvs/%/.package) $(OTHERS)/.environment $(D3RLPY)/.environment ## run the tests that need TensorFlow, JAX, compilers, dm_control and libraries that people train with (about 12 minutes)
	$(FIRST) $(BIN)/pytest $(TIMED_FRAMEWORKS)
	$(AT_ONCE) tests/frameworks $(TIMED_FRAMEWORKS:%=--ignore=%)

test-others: build $(OTHERS)/.environment ## run other people's tests and trainings plain and recorded; SUITES=all for the whole
	$(BIN)/python tests/others --jobs $(JOBS) $(SUITES)

test-page: build $(PAGE)/.environment ## test the page of `rlscope report` in a headless browser (needs Debian's chromium-headless-shell and poppler-utils)
	for program in chromium-headless-shell pdftotext; do
		command -v $$program >/dev/null || { echo "make: expected $$program on PATH, found none; apt-get install chromium-headless-shell poppler-utils" >&2; exit 1; }
	done
	$(PAGE)/bin/python $(BIN)/pytest tests/page

# In a folder outside of the checkout's root, where `python -m rlscope` would find the parts compiled for .venv's Python.
test-pythons: ## test recorder and hooks on those of PYTHONS that are here (about 5 minutes)
	mkdir -p build/pythons
	for version in $(PYTHONS); do
		$(FIND_PYTHON)
		"$$python" -c '' 2>/dev/null || { echo "Python $$version is not tested: found none by pyenv, on PATH or by scripts/get_python.py"; continue; }
		$(MAKE) PYTHON="$$python" .venvs/python$$version/.package
		tests=(-c $(CURDIR)/pyproject.toml --rootdir $(CURDIR) -p no:cacheprovider)
		(cd build/pythons
		$(FIRST) $(CURDIR)/.venvs/python$$version/bin/pytest "$${tests[@]}" $(patsubst %,$(CURDIR)/%,$(filter $(TIMED),$(RECORDER_TESTS)))
		$(CURDIR)/.venvs/python$$version/bin/pytest "$${tests[@]}" --numprocesses $(JOBS) --dist loadfile \
			$(patsubst %,$(CURDIR)/%,$(filter-out $(TIMED),$(RECORDER_TESTS))))
	done

test-container: build $(DEPLOY)/.environment ## test run_docker.py with small images; .venv/bin/pytest tests/container -m slow tests the whole one
	$(BIN)/pytest tests/container

test-scale: build ## run the tests that record hundreds of processes at once (about 15 minutes; 12 GiB of memory)
	$(BIN)/pytest tests/scale

fuzz: setup ## give the trace reader RUNS damaged files; needs clang
	PATH="$(CURDIR)/$(BIN):$$PATH"
	cmake -S . -B $(NATIVE)/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DRLSCOPE_FUZZ=ON -DRLSCOPE_SANITIZE=address,undefined >/dev/null
	cmake --build $(NATIVE)/fuzz
	mkdir -p $(NATIVE)/fuzz/found
	ASAN_OPTIONS=quarantine_size_mb=16 $(NATIVE)/fuzz/tests/native/fuzz_trace $(NATIVE)/fuzz/found tests/native/fuzz/corpus \
		-artifact_prefix=$(NATIVE)/fuzz/ -runs=$(RUNS) -max_len=49152 -timeout=5 -malloc_limit_mb=16 -rss_limit_mb=1024 \
		-print_final_stats=1

artifacts: build simulators install-experiments ## record every case study, draw its figures, judge its claims
	$(BIN)/python scripts/artifacts.py --budget $(BUDGET) --output "$(OUTPUT)"

check-claims: ## fail where a claim that a study in OUTPUT has judged differs, and held before or was published so
	scripts/check_claims.sh "$(OUTPUT)"

bench: $(BENCH_PACKAGE) ## compare costs with other profilers' (17 to 38 minutes); ONLY=name,… for some
	$(BENCH_VENV)/bin/python -m benchmarks.run $(if $(ONLY),--only $(ONLY))

guard: build ## compare instructions and bytes per event with benchmarks/guard.json; UPDATE=1 writes it
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m benchmarks.guard $(if $(UPDATE),--update)

rules: build ## judge rules by kept traces, and write docs/rules/measured.md; RECORD=1 records and measures anew (hour)
	$(if $(RECORD),$(BIN)/python tests/rules/recording.py)
	PYTHONPATH=tests $(BIN)/python -m rules.confusion

forecasts: build ## measure forecasts against edits, and write docs/forecast-measured.md (half an hour); needs a calibration
	PYTHONPATH=tests $(BIN)/python -m rules.forecasting

field: build $(if $(RECORD)$(TRY),$(if $(ENVIRONMENTS),,$(FRAMEWORKS:%=.venvs/%/.package) $(OTHERS)/.environment $(D3RLPY)/.environment)) ## write docs/rules/field.md, of programs as they are; RECORD=1 records them anew (half an hour), TRY=1 measures what changes bring; ENVIRONMENTS=DIR instead of .venvs
	export PYTHONPATH=tests
	$(if $(RECORD),$(BIN)/python -m rules.field $(ENVIRONMENTS:%=--environments "%"))
	$(BIN)/python -m rules.field_page $(if $(TRY),--try $(ENVIRONMENTS:%=--environments "%"))

docs: build $(DOCS)/.environment ## build the site of all documents, and test it: build/site/html
	rm -rf $(SITE)
	mkdir -p $(SITE)/pages
	cp --parents *.md LICENSE $$(find docs -name '*.md' -o -name '*.png' -o -name '*.ipynb') experiments/README.md experiments/*/run.py $(SITE)/pages
	PATH="$(CURDIR)/$(BIN):$$PATH"
	rlscope record -o $(SITE)/trace -- python experiments/workloads/stable_baselines3_train.py \
		--algo ppo --env Walker2d-v5 --stop-after 4096
	rlscope report $(SITE)/trace -o $(SITE)/pages/docs/example_report
	$(DOCS)/bin/zensical build --strict
	$(BIN)/pytest --quiet tests/site

archive: ## write what an evaluator needs, as committed: build/rlscope.tar.gz
	mkdir -p build
	git archive --prefix=rlscope/ --output=build/rlscope.tar.gz HEAD
	@echo "wrote build/rlscope.tar.gz; ARTIFACT.md in it says how to begin"

coverage: build $(COVERAGE)/.environment ## show which branches of Python the unit tests reach, and of C++ the C++ tests
	PATH="$(CURDIR)/$(BIN):$$PATH"
	cmake -S . -B $(NATIVE)/coverage -G Ninja -DRLSCOPE_TESTS=ON -DRLSCOPE_COVERAGE=ON \
		-DCMAKE_PREFIX_PATH="$$(scripts/get_googletest.sh)" >/dev/null
	cmake --build $(NATIVE)/coverage
	find $(NATIVE)/coverage -name '*.gcda' -delete
	ctest --test-dir $(NATIVE)/coverage --output-on-failure --parallel $(JOBS)
	$(COVERAGE)/bin/gcovr --root . --filter src/ --exclude-throw-branches --txt-metric branch $(NATIVE)/coverage
	# With .venv's Python, which tests look for what they compile. Whether they pass, `make test` says.
	packages=$$($(COVERAGE)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
	export COVERAGE_FILE=build/.coverage
	PYTHONPATH="$$packages" $(AT_ONCE) --quiet --cov rlscope --cov-branch --cov-report= tests/unit || [[ $$? == 1 ]]
	$(COVERAGE)/bin/coverage report --skip-covered --fail-under=70

wheels: $(WHEELS)/.environment ## make a wheel in dist/ for each of WHEEL_PYTHONS, for glibc 2.24 and newer (about a minute each); CXX=g++ for this machine's
	rm -rf build/wheels/made dist/rlscope-*.whl
	export CXX="$${CXX:-$$(scripts/get_sysroot.sh)}"
	for version in $(WHEEL_PYTHONS); do
		$(FIND_PYTHON)
		"$$python" -c '' || { echo "make: expected Python $$version by pyenv, on PATH or by scripts/get_python.py, found none; or give WHEEL_PYTHONS=…" >&2; exit 1; }
		echo "making the wheel for Python $$version"
		$(WHEELS)/bin/pip --python "$$python" wheel --quiet --no-deps --wheel-dir build/wheels/made \
			--config-settings "build-dir=build/wheels/{wheel_tag}" .
	done
	PATH="$(CURDIR)/$(WHEELS)/bin:$$PATH"
	auditwheel repair --only-plat --wheel-dir dist build/wheels/made/*.whl

sdist: $(WHEELS)/.environment ## make the source package in dist/
	rm -f dist/rlscope-*.tar.gz
	$(WHEELS)/bin/pyproject-build --sdist --outdir dist .

test-wheels: build wheels sdist ## make and install wheels where no compiler is, and build the source package (5 minutes; one wheel 3)
	$(BIN)/pytest tests/wheels

test-notebook: build $(NOTEBOOK)/.environment ## run the example notebook and what shows in one
	$(NOTEBOOK)/bin/python $(BIN)/pytest tests/notebook

lint: setup $(FRAMEWORKS:%=.venvs/%/.environment) ## check style and types, those of workloads with the packages of the environments that run them
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy --python-version 3.11 experiments/command_line.py experiments/artifacts experiments/harness experiments/verdicts experiments/*/run.py
	$(BIN)/mypy --config-file tests/mypy.ini $(TYPED_TESTS)
	cd experiments/workloads
	$(WORKLOADS_MYPY)/pytorch/bin/python $$(find . -name '*.py' ! -name tf_agents_train.py)
	$(WORKLOADS_MYPY)/tensorflow/bin/python tf_agents_train.py
	cd ../..
	if command -v npm >/dev/null; then
		npm exec --yes --package typescript@$(TYPESCRIPT) -- tsc --project rlscope/page/web/jsconfig.json
	else
		echo "The page's scripts are not checked: found no npm on PATH"
	fi

clean: ## remove what was built; .venv and output stay
	rm -rf build dist rlscope/*.so rlscope/built_from.json $(SLOW_SIMULATOR) $(CARTPOLE) $(PACKAGE) .pytest_cache .ruff_cache .mypy_cache .hypothesis

# The measured package has an environment of its own, with the profilers that it is compared with.
$(ENVIRONMENT): $(LOCK)
$(BENCH_VENV)/.environment: $(BENCH_LOCK)
$(DEPLOY)/.environment: requirements.deploy.txt
$(DOCS)/.environment: requirements/docs.lock.txt
$(WHEELS)/.environment: requirements/wheels.lock.txt
$(PYTHONS:%=.venvs/python%/.environment): requirements/pythons.lock.txt
$(STACKS:%=.venvs/%/.environment): .venvs/%/.environment: experiments/requirements/%.lock.txt
$(ENVIRONMENT) $(BENCH_VENV)/.environment $(DEPLOY)/.environment $(DOCS)/.environment $(WHEELS)/.environment $(patsubst %,.venvs/%/.environment,$(STACKS) $(PYTHONS:%=python%)):
	@[[ -n "$(PYTHON)" ]] || { echo "make: expected Python 3.11, 3.12 or 3.13 on PATH, found none; or give PYTHON=…" >&2; exit 1; }
	@echo "setting up $(@D) with $$($(PYTHON) --version): downloads $$(sed -n 's/^# Downloads //p' $<)"
	$(PYTHON) -m venv $(@D)
	torch="$$(grep '^torch==' $< || true)"
	[[ -z "$$torch" ]] || $(@D)/$(PIP_INSTALL) $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) --constraint $< $$torch
	$(@D)/$(PIP_INSTALL) --no-deps --requirement $<
	touch $@

$(OTHERS)/.environment $(D3RLPY)/.environment: .venvs/%/.environment: experiments/requirements/%.lock.txt
$(COVERAGE)/.environment: requirements/coverage.lock.txt
$(PAGE)/.environment: requirements/page.lock.txt
$(NOTEBOOK)/.environment: requirements/notebook.lock.txt
$(OTHERS)/.environment $(D3RLPY)/.environment $(COVERAGE)/.environment $(PAGE)/.environment $(NOTEBOOK)/.environment: $(ENVIRONMENT)
	@lock="$(filter %.lock.txt,$^)"
	echo "setting up $(@D): downloads $$(sed -n 's/^# Downloads //p' "$$lock")"
	$(BIN)/python -m venv $(@D)
	packages='import sysconfig; print(sysconfig.get_path("purelib"))'
	{ $(CURDIR)/$(BIN)/python -c "$$packages"; echo $(CURDIR); } > "$$($(@D)/bin/python -c "$$packages")/of_.venv.pth"
	$(@D)/$(PIP_INSTALL) --no-deps --requirement "$$lock"
	touch $@

# What the benchmarks measure is what users install.
$(BENCH_PACKAGE): $(BENCH_VENV)/.environment $(SOURCES)
	$(@D)/bin/pip install --quiet --no-deps --no-build-isolation --force-reinstall .
	touch $@

# Everything else runs the checkout: only what is compiled has to be made anew. One at a time, for all put it in one place.
$(patsubst %,%/.package,$(VENV) $(patsubst %,.venvs/%,$(STACKS) $(PYTHONS:%=python%))): %/.package: %/.environment $(COMPILED)
	@mkdir -p build
	echo "compiling rlscope for $*"
	flock build/.compiling $(@D)/bin/pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

$(SLOW_SIMULATOR): experiments/workloads/slow_simulator.cpp
	$(CXX) -std=c++17 -O2 -Wall -shared -fPIC -o $@ $< \
		-isystem "$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))')"

$(CARTPOLE): experiments/workloads/cartpole/cpp_threads.cpp experiments/workloads/cartpole/cartpole.h
	$(CXX) -std=c++17 -O3 -Wall -Wextra -Werror -shared -fPIC -pthread -o $@ $<
