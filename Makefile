# One verb each: run, test, lint, bench. Each does the set-up that it needs; a set-up that is done takes no time.
# make run PORT=8001 PLACETO_DATA=/somewhere: what is said here reaches the application as environment.

.DEFAULT_GOAL := run
.PHONY: run test lint bench setup setup-tests
SHELL := /bin/sh

SOURCES := engine webapp tests setup manage.py

run: setup
	@exec .venv/bin/python -m webapp.supervisor --end-with-parent

# pytest comes last, so that its closing line is the last word.
test: lint
	@node=$$(.venv/bin/python -m setup node) && "$$node" --test tests/frontend/*.test.mjs
	@PLACETO_CHROMIUM="$$(.venv/bin/python -m setup browser)" && export PLACETO_CHROMIUM && \
	PLACETO_DATA="$(CURDIR)/build/test-data" .venv/bin/python -m pytest -n 2 --dist loadgroup

lint: setup-tests
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy $(SOURCES)
	@node=$$(.venv/bin/python -m setup node) && cd frontend && PATH="$$(dirname "$$node"):$$PATH" npm run --silent check

bench: setup
	@.venv/bin/python -m engine bench simulator
	@.venv/bin/python -m engine bench training
	@.venv/bin/python -m engine bench reading

setup:
	@python=$$(sh setup/find-python.sh) && exec "$$python" -m setup application

setup-tests:
	@python=$$(sh setup/find-python.sh) && exec "$$python" -m setup tests
