# The front door. Every target sets up what it needs; the work is done in scripts/.
# PYTHON=python3.12 chooses the Python; PORT=8780 the port of `make run` and `make demo`;
# ARGS="-k usages" goes to pytest, ARGS="--hosts 1000" to `make bench`.

.DEFAULT_GOAL := help
.PHONY: help setup run demo test cloud check format bench bench-full soak laws releases docs fresh wheel deb clean

help:      ## say what can be made
	@sed -n 's/^\([a-z-]*\): *## /make \1	/p' Makefile

setup:     ## build .venv, or bring it up to date
	@scripts/setup dev

run:       ## serve this machine's own books on 127.0.0.1:8778
	@scripts/run

demo:      ## serve fifty hosts with three weeks of history on 127.0.0.1:8779
	@scripts/demo

test:      ## run all tests
	@scripts/test $(ARGS)

cloud:     ## test in a cloud of Keystone, Glance and Nova on this machine
	@scripts/cloud $(ARGS)

check:     ## style, types and the quick tests, in under a minute
	@scripts/check $(ARGS)

format:    ## put every file into the house style
	@scripts/setup dev
	@.venv/bin/ruff check --fix .
	@.venv/bin/ruff format .

bench:     ## measure Gantt beside others in minutes, into docs/bench
	@scripts/bench short $(ARGS)

bench-full: ## fleets up to 100,000 hosts, in an hour, into docs/bench
	@scripts/bench full $(ARGS)

soak:      ## simulate faults for MINUTES=10, and say what was tried and lost
	@scripts/soak $(ARGS)

laws:      ## try every law with SEEDS=20 on each kind of store; a release takes 500
	@scripts/laws $(ARGS)

releases:  ## compare with the releases of Nova and Placement before the present ones
	@scripts/releases $(ARGS)

docs:      ## build the documentation into docs/_build
	@scripts/setup dev
	@.venv/bin/sphinx-build -q -W -b html docs docs/_build/html
	@.venv/bin/python -m scripts.reference.links docs/_build/html
	@echo "docs/_build/html/index.html"

fresh:     ## prove `make run` and `make test` in a bare Debian root, as root
	@scripts/fresh $(ARGS)

wheel:     ## build all wheels, and use them outside this repository
	@scripts/wheel

deb:       ## build the Debian packages, and use them in a bare Debian root, as root
	@scripts/deb $(ARGS)

clean:     ## remove .venv, .venv-cloud, .venv-previous and all that can be built again; var/ stays
	rm -rf .venv .venv-cloud .venv-previous .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist docs/_build docs/_generated
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
