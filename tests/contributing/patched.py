"""The diffs of docs/recipes, and copies of the sources with one of them applied."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("engine", "experiments", "frontend/js", "frontend/styles", "pyproject.toml", "tests", "webapp")
FILE = re.compile(r"^--- (?P<old>\S+)\n\+\+\+ b/(?P<new>\S+)\n(?P<lines>(?:(?!--- )[-@+ ].*\n|\n)+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """What a diff does to one file."""

    is_new: bool
    added: tuple[str, ...]
    removed: tuple[str, ...]


def diff_of(recipe: str) -> str:
    """The first diff of docs/recipes/`recipe`.md."""
    diff = (ROOT / "docs" / "recipes" / f"{recipe}.md").read_text().partition("```diff\n")[2].partition("```")[0]
    assert diff, f"docs/recipes/{recipe}.md has no diff"
    return diff


def changed_files(recipe: str) -> dict[str, ChangedFile]:
    """File → what the diff of `recipe` does to it."""
    changes = {}
    for found in FILE.finditer(diff_of(recipe)):
        lines = found["lines"].splitlines()
        added, removed = (tuple(line[1:] for line in lines if line[:1] == sign) for sign in "+-")
        changes[found["new"]] = ChangedFile(found["old"] == "/dev/null", added, removed)
    return changes


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of the sources."""

    folder: Path
    data: Path
    """a data folder of its own, for the web application"""

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run Python with `arguments` in the copy, and return its output and exit status."""
        environment = os.environ | {"PLACETO_DATA": str(self.data), "DJANGO_SETTINGS_MODULE": "webapp.settings"}
        command = [sys.executable, *map(str, arguments)]
        return subprocess.run(command, cwd=self.folder, env=environment, text=True, capture_output=True)

    def output(self, *arguments: str | Path) -> str:
        """The output of a command that succeeds."""
        answer = self.run(*arguments)
        assert answer.returncode == 0, answer.stdout + answer.stderr
        return answer.stdout


def patched(recipe: str, folder: Path) -> Copy:
    """A copy of the sources in `folder` with the diff of `recipe` applied; what the diff changes passes ruff."""
    copy = Copy(folder / "sources", folder / "data")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy.folder / name)
        else:
            shutil.copy2(ROOT / name, copy.folder / name)
    copy.data.mkdir()
    command = ["git", "apply", "--whitespace=error-all", "-"]
    applied = subprocess.run(command, input=diff_of(recipe), cwd=copy.folder, text=True, capture_output=True)
    assert (applied.returncode, applied.stderr) == (0, "")
    sources = [name for name in changed_files(recipe) if name.endswith(".py")]
    copy.output("-m", "ruff", "check", "--no-cache", *sources)
    copy.output("-m", "ruff", "format", "--no-cache", "--check", *sources)
    return copy
