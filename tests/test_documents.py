"""What the documents say about files, settings and commands is so."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
READERS = {
    *("text", "flag", "integer", "seconds", "names", "places", "folder", "secret", "token", "choice"),
    *("networks", "header", "web_address", "place"),
}
"""the functions of webapp/environment.py"""


def settings_that_are_read() -> set[str]:
    """Every environment variable that the web application, the supervisor or the set-up of the tests reads."""
    found = {"PLACETO_CHROMIUM"}
    for path in (ROOT / "webapp").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in READERS
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == "environment"
                and isinstance(node.args[0], ast.Constant)
            ):
                found.add(str(node.args[0].value))
    return found


def test_the_table_of_settings_is_complete_and_names_nothing_else() -> None:
    reported = re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "docs" / "operations.md").read_text(), flags=re.MULTILINE)
    assert sorted(reported) == sorted(settings_that_are_read())


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_to_files_lead_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text())
    missing = [link for link in links if "://" not in link and not (document.parent / link).exists()]
    assert missing == []


def anchors_of(document: Path) -> set[str]:
    """The fragments by which links find the headings of `document`."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_to_headings_lead_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^):]*)#([^)]+)\)", document.read_text())
    found = [(document.parent / path if path else document, anchor) for path, anchor in links]
    assert [(path.name, anchor) for path, anchor in found if anchor not in anchors_of(path)] == []


PAGES = [path for path in sorted((ROOT / "docs").rglob("*.md")) if path.parent.name != "results"]
"""what is written for people; an experiment writes most of docs/results"""


@pytest.mark.parametrize("document", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_document_names_its_reader_first(document: Path) -> None:
    title, _, first = document.read_text().split("\n")[:3]
    assert title.startswith("# ") and first.startswith("For "), first


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_paths_in_the_text_exist(document: Path) -> None:
    paths = re.findall(r"`((?:engine|webapp|frontend|tests|setup|docs)/[\w./-]*)`", document.read_text())
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_licence_is_apache_2() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License\n                           Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text
