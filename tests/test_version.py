"""The version stands the same wherever it stands."""

import json
import re
import tomllib
from pathlib import Path

from engine import VERSION

ROOT = Path(__file__).resolve().parent.parent


def test_engine_project_and_front_end_have_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    package = json.loads((ROOT / "frontend" / "package.json").read_text())
    lock = json.loads((ROOT / "frontend" / "package-lock.json").read_text())
    found = {project["version"], package["version"], lock["version"], lock["packages"][""]["version"]}
    assert found == {VERSION}


def test_the_changelog_begins_with_it_and_dates_the_ones_before() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert re.fullmatch(rf"{re.escape(VERSION)} \((unreleased|\d{{4}}-\d\d-\d\d)\)", headings[0])
    assert len(headings) > 1
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)", heading) for heading in headings[1:])
