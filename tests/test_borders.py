"""The borders of the design hold: who may import what, what is never read, what is never loaded from elsewhere."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.borders.python_source import PythonSource
from tests.borders.rules import (
    FLOORS,
    broken_floors,
    environment_reads,
    floor_of,
    foreign_addresses,
    import_circles,
    loans_from_tests,
    mocks_and_tests,
    ours_in_the_client,
    pickles,
    types_of_one_name,
    ways_round_the_api,
    web_in_the_engine,
)

ROOT = Path(__file__).resolve().parent.parent
FRONTEND = ROOT / "frontend"
NOT_OURS = {"node_modules", "vendor"}


def python_sources(*folders: str) -> list[PythonSource]:
    paths = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    assert paths, f"no sources in {folders}"
    return [source_of(path) for path in paths]


@cache
def source_of(path: Path) -> PythonSource:
    return PythonSource.read(path, ROOT)


def frontend_files(*suffixes: str) -> list[Path]:
    return [
        path
        for path in sorted(FRONTEND.rglob("*"))
        if path.suffix in suffixes and not NOT_OURS & set(path.relative_to(FRONTEND).parts)
    ]


@pytest.mark.parametrize(
    ("rule", "folders"),
    [
        (broken_floors, ("engine", "experiments", "webapp")),
        (ways_round_the_api, ("webapp",)),
        (web_in_the_engine, ("engine", "experiments")),
        (environment_reads, ("engine", "experiments", "client")),
        (pickles, ("engine", "experiments", "webapp", "setup")),
        (loans_from_tests, ("tests",)),
        (mocks_and_tests, ("engine", "experiments", "webapp", "setup", "client")),
        (ours_in_the_client, ("client",)),
    ],
)
def test_no_source_breaks_a_rule(rule: Callable[[PythonSource], Iterator[str]], folders: tuple[str, ...]) -> None:
    assert [line for source in python_sources(*folders) for line in rule(source)] == []


def test_no_two_types_have_one_name() -> None:
    assert types_of_one_name(python_sources("engine", "experiments", "webapp")) == []


def test_no_modules_import_each_other() -> None:
    assert import_circles(python_sources("engine", "experiments", "webapp", "setup")) == []


def test_a_circle_of_imports_is_seen() -> None:
    late = "def late():\n    from engine.one import x"
    texts = {"engine.one": "from engine.two import y", "engine.two": "from engine import three", "engine.three": late}
    sources = [PythonSource.parse(module, text) for module, text in texts.items()]
    assert import_circles(sources) == [["engine.one", "engine.three", "engine.two"]]
    assert import_circles(sources[:2]) == []


def test_the_packages_are_the_floors() -> None:
    """At most twenty packages of the engine, and beside them at most twelve modules of its own."""
    named = {name for names in FLOORS for name in names if name.startswith("engine.")}
    packages = {f"engine.{path.parent.name}" for path in (ROOT / "engine").glob("*/__init__.py")}
    modules = {f"engine.{path.stem}" for path in (ROOT / "engine").glob("*.py")} - {"engine.__init__"}
    assert named == packages | modules
    assert len(packages) <= 20 and len(modules) + 1 <= 12


def test_every_module_has_a_floor() -> None:
    without = [source.module for source in python_sources("engine", "webapp") if floor_of(source.module) is None]
    assert without == ["engine", "webapp"], "give the new module its floor in tests/borders/rules.py"


@pytest.mark.parametrize(
    ("rule", "module", "text"),
    [
        (broken_floors, "engine.graphs.graph", "from engine.problem import Budget"),
        (broken_floors, "engine.simulator.tables", "def late():\n    import engine.placers.registry"),
        (broken_floors, "engine.costs.costs", "from engine import api"),
        (broken_floors, "engine.placeto.networks.actor", "PATH = 'engine.placers.random:RandomPlacer'"),
        (broken_floors, "engine.errors", "import engine.events"),
        (broken_floors, "engine.api", "from webapp.settings import DEBUG"),
        (broken_floors, "webapp.graphs.forms", "from webapp.runs.models import Run"),
        (broken_floors, "webapp.policies.forms", "from webapp.pages.runs.views import detail"),
        (broken_floors, "webapp.graphs.uploads", "from webapp.http.user_errors import error_answer"),
        (broken_floors, "webapp.graphs.models", "run = models.ForeignKey('runs.Run', null=True)"),
        (broken_floors, "webapp.graphs.models", "run = models.OneToOneField(to='runs.Run')"),
        (broken_floors, "webapp.jobs.reaper", "run = apps.get_model('runs.Run')"),
        (broken_floors, "webapp.jobs.reaper", "def late():\n    from webapp.runs.models import Run"),
        (ways_round_the_api, "webapp.runs.placing", "from engine.events import Episode"),
        (ways_round_the_api, "webapp.runs.placing", "from engine import events"),
        (ways_round_the_api, "webapp.runs.placing", "import engine.apiary"),
        (web_in_the_engine, "engine.run.run", "from django.conf import settings"),
        (web_in_the_engine, "engine.run.run", "def f():\n    import celery"),
        (ours_in_the_client, "client.placeto.recorder", "from engine import api"),
        (ours_in_the_client, "client.placeto.recorder", "import torch"),
        (ours_in_the_client, "client.placeto.recorder", "from placeto.pytorch.step import record_step"),
        (environment_reads, "engine.run.run", "import os\nos.environ['HOME']"),
        (environment_reads, "engine.run.run", "import os\nos.getenv('HOME')"),
        (environment_reads, "engine.run.run", "from os import environ"),
        (environment_reads, "client.placeto.remote.login", "import os\nos.environ['PLACETO_TOKEN']"),
        (loans_from_tests, "tests.engine.test_run", "from tests.engine.test_child import wait_for"),
        (mocks_and_tests, "experiments.bench.simulator", "TWIN = 'tests.engine.simulator.slow_twin'"),
        (mocks_and_tests, "experiments.bench.simulator", "importlib.import_module('tests')"),
        (mocks_and_tests, "experiments.blinded", "from unittest import mock"),
        (pickles, "engine.run.run", "import pickle"),
        (pickles, "engine.run.run", "import torch\ntorch.load('weights')"),
        (pickles, "engine.run.run", "import numpy\nnumpy.load('x', allow_pickle=True)"),
        (pickles, "engine.run.run", "import numpy\nnumpy.load('x', allow_pickle=yes)"),
        (pickles, "engine.run.run", "from multiprocessing.connection import Connection"),
        (pickles, "engine.run.run", "import multiprocessing\nmultiprocessing.Pipe()"),
        (pickles, "engine.policies.team", "import pickle"),
        (pickles, "engine.policies.team", "from torch import multiprocessing\nmultiprocessing.spawn(f)"),
        (pickles, "engine.policies.processes", "import pickle\npickle.loads(received)"),
    ],
)
def test_each_rule_sees_its_breach(rule: Callable[[PythonSource], Iterator[str]], module: str, text: str) -> None:
    assert len(list(rule(PythonSource.parse(module, text)))) >= 1


@pytest.mark.parametrize(
    ("rule", "module", "text"),
    [
        (broken_floors, "engine.placers.random", "from engine.problem import Budget"),
        (broken_floors, "engine.graphs.graph", "from engine.graphs.grouping.grouping import Grouping\nimport numpy"),
        (broken_floors, "webapp.runs.forms", "from webapp.policies.models import Policy"),
        (ways_round_the_api, "webapp.runs.placing", "from engine import api\nfrom engine.api import Budget"),
        (loans_from_tests, "tests.engine.test_run", "from tests.engine.small_runs import request"),
        (broken_floors, "webapp.runs.models", "graph = models.ForeignKey('graphs.Graph', null=True)"),
        (pickles, "engine.run.run", "import numpy\nnumpy.load('x', allow_pickle=False)"),
        (environment_reads, "client.placeto.remote.environment", "import os\nos.environ.get('PLACETO_TOKEN')"),
        (pickles, "webapp.temporary_files", "from multiprocessing.util import Finalize"),
        (pickles, "engine.policies.processes", "import pickle, sys\npickle.load(sys.stdin.buffer)"),
    ],
)
def test_no_rule_sees_a_breach_where_there_is_none(
    rule: Callable[[PythonSource], Iterator[str]], module: str, text: str
) -> None:
    assert list(rule(PythonSource.parse(module, text))) == []


def modules_loaded_by(statement: str) -> set[str]:
    """The top-level packages that a fresh process has loaded after `statement`."""
    answer = subprocess.run(
        [sys.executable, "-c", f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return {name.partition(".")[0] for name in json.loads(answer.stdout.splitlines()[-1])}


@pytest.mark.slow
def test_importing_the_api_loads_no_heavy_library() -> None:
    loaded = modules_loaded_by("import engine.api")
    assert "numpy" in loaded
    assert loaded & {"torch", "torch_geometric", "tensorflow", "keras", "matplotlib", "django", "celery"} == set()


def without_comments(script: str) -> str:
    """A type may be named in a comment."""
    return re.sub(r"/\*.*?\*/|^\s*//[^\n]*", "", script, flags=re.DOTALL | re.MULTILINE)


def test_one_module_touches_cytoscape() -> None:
    modules = frontend_files(".js", ".mjs")
    touching = [path.name for path in modules if "cytoscape" in without_comments(path.read_text())]
    touching.remove("vendor.mjs")  # copies it at set-up
    assert len(touching) == 1, touching


def test_nothing_is_loaded_from_elsewhere() -> None:
    pages = [*frontend_files(".js", ".mjs", ".css", ".html", ".svg"), *sorted((ROOT / "webapp").rglob("*.html"))]
    assert any(page.suffix == ".html" for page in pages)
    found = {str(page.relative_to(ROOT)): foreign_addresses(page.read_text(encoding="utf-8")) for page in pages}
    assert {page: hosts for page, hosts in found.items() if hosts} == {}


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ('<script src="https://cdn.example.org/x.js">', ["cdn.example.org"]),
        ("<img src=//cdn.example.org/x.png>", ["cdn.example.org"]),
        ("@import url(//fonts.example.org/css);", ["fonts.example.org"]),
        ('import x from "http://example.org/x.js"', ["example.org"]),
        ('xmlns="http://www.w3.org/2000/svg"', []),
        ("const half = whole / 2; // a comment", []),
        ('<a href="/projects/">', []),
    ],
)
def test_foreign_addresses_are_seen(text: str, hosts: list[str]) -> None:
    assert foreign_addresses(text) == hosts


def test_the_lock_file_names_no_registry() -> None:
    packages = json.loads((FRONTEND / "package-lock.json").read_text())["packages"]
    assert len(packages) > 1
    assert [name for name, package in packages.items() if "resolved" in package] == []
    assert all("integrity" in package for name, package in packages.items() if name)
