"""Packs: what a page needs in one script and one style sheet, kept by the browser until it changes."""

import gzip
import os
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from webapp.pages.packs import packs
from webapp.pages.packs.packs import digest_of, script_of, sheets_of, style_of
from webapp.pages.packs.tags import page_script, page_styles

TEMPLATES = sorted((Path(settings.BASE_FOLDER) / "webapp").rglob("*.html"))
SCRIPTS = sorted({name for path in TEMPLATES for name in re.findall(r'{% page_script "([^"]+)"', path.read_text())})
STYLES = sorted({name for path in TEMPLATES for name in re.findall(r'{% page_styles "([^"]+)"', path.read_text())})
ADDRESS = re.compile(r'(?:src|href)="([^"]+)"')


def address_in(tag: str) -> str:
    """The address that a tag of a template names."""
    found = ADDRESS.search(tag)
    assert found
    return found[1]


@pytest.mark.parametrize("entry", SCRIPTS)
def test_every_page_script_is_served_whole_and_kept_for_ever(client: Client, entry: str) -> None:
    answer = client.get(address_in(page_script(entry)), headers={"accept-encoding": "gzip"})
    assert answer.status_code == 200
    assert answer["Content-Type"] == "text/javascript; charset=utf-8"
    assert answer["Cache-Control"] == "public, max-age=31536000, immutable"
    assert gzip.decompress(answer.content).decode() == script_of(entry)


@pytest.mark.parametrize("names", STYLES)
def test_style_sheets_are_served_in_their_order(client: Client, names: str) -> None:
    address = address_in(page_styles(names))
    answer = client.get(address)
    assert answer["Content-Type"] == "text/css; charset=utf-8"
    assert "immutable" in answer["Cache-Control"]
    beginnings = [(packs.FRONTEND / f"styles/{name}.css").read_text()[:200] for name in names.split()]
    places = [answer.content.decode().index(beginning) for beginning in beginnings]
    assert places == sorted(places)


@pytest.mark.parametrize("query", ["", "?v=0123456789abcdef"])
def test_an_address_of_another_version_gets_the_present_files_unkept(client: Client, query: str) -> None:
    answer = client.get(f"/static/packs/js/pages/help-page.js{query}")
    assert answer.content.decode() == script_of("js/pages/help-page.js")
    assert answer["Cache-Control"] == "no-cache"


@pytest.mark.parametrize(
    "path",
    [
        "js/pages/none.js",
        "js/graph/graph-view.js",
        "js/pages/../pages/help-page.js",
        "vendor.mjs",
        "none.css",
        "run+none.css",
        "run+run.css",
        "..%2Fstyles%2Frun.css",
        "+.css",
    ],
)
def test_nothing_else_is_packed(client: Client, path: str) -> None:
    assert client.get(f"/static/packs/{path}").status_code == 404


def test_a_changed_file_has_another_address() -> None:
    assert digest_of("a") != digest_of("b")
    assert digest_of(style_of(sheets_of("run"))) in page_styles("run")


def test_the_order_in_which_modules_are_found_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the page of one process would name the digest of another."""
    entry, found = "js/pages/run-page.js", packs._addresses
    text = script_of(entry)
    monkeypatch.setattr(packs, "_addresses", lambda text: found(text)[::-1])
    assert packs._script.__wrapped__(entry, 0.0) == text


def test_with_debug_an_edited_file_is_packed_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "styles").mkdir()
    sheet = tmp_path / "styles" / "run.css"
    monkeypatch.setattr(packs, "FRONTEND", tmp_path)
    monkeypatch.setattr(settings, "DEBUG", True)
    for time, text in ((1, "a {}"), (2, "b {}")):
        sheet.write_text(text)
        os.utime(sheet, (time, time))
        assert style_of(sheets_of("run")) == text
