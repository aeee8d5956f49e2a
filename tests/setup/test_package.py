"""`pip install .` gives the engine as a package: what it needs, what it holds, and the command that it adds."""

import tomllib
from importlib.metadata import EntryPoint

import pytest

from engine.cli import main as command_line
from setup.__main__ import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUPTOOLS = PYPROJECT["tool"]["setuptools"]


def test_it_needs_what_the_requirements_name() -> None:
    assert PYPROJECT["project"]["dynamic"] == ["dependencies"]
    assert SETUPTOOLS["dynamic"]["dependencies"] == {"file": ["requirements.txt"]}
    assert "-r " not in (ROOT / "requirements.txt").read_text(), "setuptools follows no reference to another file"


def test_it_is_built_by_the_pinned_setuptools() -> None:
    [builder] = PYPROJECT["build-system"]["requires"]
    assert builder in (ROOT / "constraints.txt").read_text().splitlines()


def test_it_holds_each_file_of_the_engine() -> None:
    """A folder without `__init__.py`, or a file of another kind, would be missing after an installation."""
    assert SETUPTOOLS["packages"]["find"] == {"include": ["engine", "engine.*"], "namespaces": False}
    patterns = ["*.py", *SETUPTOOLS["package-data"]["*"]]
    packages = [path.parent for path in (ROOT / "engine").rglob("__init__.py")]
    held = {path for package in packages for pattern in patterns for path in package.glob(pattern)}
    files = {path for path in (ROOT / "engine").rglob("*") if path.is_file() and path.parent.name != "__pycache__"}
    assert held == files


@pytest.mark.parametrize(
    ("started_as", "shown"), [("/bin/placeto-engine", "placeto-engine"), ("main", "python -m engine")]
)
def test_its_command_is_the_engines_command_line(
    started_as: str, shown: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [(name, value)] = PYPROJECT["project"]["scripts"].items()
    assert name == command_line.INSTALLED_NAME
    monkeypatch.setattr("sys.argv", [started_as, "place", "--help"])
    with pytest.raises(SystemExit) as ended:
        EntryPoint(name, value, "console_scripts").load()()
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: {shown} place ")
