# One verb each: run, drain, test, test-fast, fmt, lint, bench, bench-ui, chaos, fuzz, load, pictures, policy, backup, restore, constraints. Each does the set-up that it needs; a set-up that is done takes no time.
# make run PORT=8001 PLACETO_DATA=/somewhere: what is said here reaches the application as environment.

.DEFAULT_GOAL := run
.PHONY: run drain test test-fast fmt lint bench bench-ui chaos fuzz load pictures policy backup restore constraints setup setup-tests
SHELL := /bin/sh

SOURCES := engine experiments webapp client tests setup manage.py

run: setup
	@exec .venv/bin/python -m webapp.supervisor --end-with-parent

# The application that runs finishes what it does, takes nothing new, and ends. With the variables of its `make run`.
drain:
	@.venv/bin/python -m webapp.supervisor.drain

# Three processes on two cores, since many tests wait for others. pytest comes last, so that its closing line is the last word. Its groups come in the order of the folders: sorted by
# their numbers of tests, one test that takes a minute would be last and alone.
# The engine is compiled beside the checks of the sources and the collection of the tests, which wait for it, so that no two of the processes do it again.
# (Of a line with MAKE in capitals, a dry run would do all.) What Python compiles it keeps, even where the environment says not to: each of thousands of processes would do it again.
test: setup-tests
	@export PYTHONDONTWRITEBYTECODE=; .venv/bin/python -m tests.compiling & compiling=$$!; \
	make --no-print-directory lint && node=$$(.venv/bin/python -m setup node) && "$$node" --test tests/frontend/*.test.mjs && \
	PLACETO_CHROMIUM="$$(.venv/bin/python -m setup browser)" && export PLACETO_CHROMIUM && \
	PLACETO_DATA="$(CURDIR)/build/test-data" .venv/bin/python -m pytest -n 3 --dist loadgroup --no-loadscope-reorder && wait $$compiling

# The tests that start no browser, no TensorFlow and no workers: two minutes on two cores.
test-fast: setup-tests
	@node=$$(.venv/bin/python -m setup node) && "$$node" --test tests/frontend/*.test.mjs
	@PLACETO_DATA="$(CURDIR)/build/test-data" \
	.venv/bin/python -m pytest -n 2 --dist loadgroup --no-loadscope-reorder -m "not slow"

fmt: setup-tests
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

lint: setup-tests
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy $(SOURCES)
	@node=$$(.venv/bin/python -m setup node) && cd frontend && PATH="$$(dirname "$$node"):$$PATH" npm run --silent check

# Viewers, pages, uploads and slow requests, in ten minutes: LOAD="--checkout ../before --checkout ." compares two checkouts.
LOAD := --checkout .

load: setup-tests
	@.venv/bin/python -m tests.load $(LOAD)

# The pages in headless Chromium, in some ten minutes: BENCH_UI="--only 'run on 160 groups' --out pages.json" gives other arguments.
bench-ui: setup-tests
	@PLACETO_CHROMIUM="$$(.venv/bin/python -m setup browser)" && export PLACETO_CHROMIUM && \
	.venv/bin/python -m tests.bench_ui $(BENCH_UI)

# Mutated uploads, at a low priority: FUZZ="--seconds 600 --seed 7" gives it other arguments.
fuzz: setup-tests
	@nice .venv/bin/python -m tests.fuzz $(FUZZ)

bench: setup
	@.venv/bin/python -m experiments bench simulator
	@.venv/bin/python -m tests.engine.simulator.yardstick
	@.venv/bin/python -m experiments bench moves
	@.venv/bin/python -m experiments bench training
	@.venv/bin/python -m experiments bench reading

# Attacks on the running application: 100 kills at random moments, then 50 stops of workers. Some 40 minutes.
chaos: setup-tests
	@.venv/bin/python -m tests.chaos
	@.venv/bin/python -m tests.chaos.stops

# The pictures of README.md and docs/guide.md.
pictures: setup-tests
	@PLACETO_CHROMIUM="$$(.venv/bin/python -m setup browser)" .venv/bin/python -m tests.pictures

# The policy that ships, and what it is trained on: 80 minutes, and half an hour for its graphs and its card. After an
# interruption it goes on. Then its answers are recorded, by which a test knows when it must be trained again.
POLICY_SECONDS := 4800
POLICY_CLUSTERS := 2xK80 4xK80 8xK80 2xK80+2xV100

policy: setup-tests
	@OMP_NUM_THREADS=1 .venv/bin/python -m engine train nmt ptb cifar10 $(addprefix --cluster ,$(POLICY_CLUSTERS)) \
		--count 96 --test-count 32 --seconds $(POLICY_SECONDS) --set learners=2 --set drawn=256 \
		--set message_rounds=4 --set embedding_width=48 --set sampled_share_end=0.15 --set drawn_share=0.4 \
		--set search_seconds=3 --name "all families" \
		--out policies/default.safetensors
	@.venv/bin/python -m tests.engine.policies.default_answers

# make backup FILE=/backups/monday.zip, while the application runs; make restore FILE=... into an empty data folder.
backup restore: setup
	@exec .venv/bin/python manage.py $@ "$${FILE:?name the archive: make $@ FILE=/backups/monday.zip}"

# constraints.txt anew, after a change of the requirements.
constraints:
	@python=$$(sh setup/find-python.sh) && exec "$$python" -m setup constraints

setup:
	@python=$$(sh setup/find-python.sh) && exec "$$python" -m setup application

setup-tests:
	@python=$$(sh setup/find-python.sh) && exec "$$python" -m setup tests
