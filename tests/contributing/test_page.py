"""A page is one folder and one line in the addresses: the application serves it as all others."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from engine.formats.registry import FORMATS
from tests.contributing.patched import ROOT, Copy, changed_files, patched

RECIPE = "page"
ADDRESS = "/formats/"
VISIT = """
import json, sys
import django
django.setup()
from django.test import Client
client = Client(headers={"host": "localhost"})
page, sent, home = client.get(sys.argv[1]), client.post(sys.argv[1]), client.get("/no/such/page")
answer = {"status": page.status_code, "text": page.content.decode(), "headers": dict(page.headers)}
print(json.dumps(answer | {"sent": sent.status_code, "of_others": dict(home.headers)}))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return patched(RECIPE, tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def answer(copy: Copy) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(copy.output("-c", VISIT, ADDRESS).splitlines()[-1])
    return found


def test_the_diff_is_one_new_folder_and_one_line() -> None:
    *page, (addresses, line) = changed_files(RECIPE).items()
    assert all(file.is_new for _, file in page)
    [folder] = {Path(name).parent for name, _ in page}
    assert folder.parent == Path("webapp/pages") and not (ROOT / folder).exists()
    assert addresses == "webapp/urls.py"
    assert (line.is_new, len(line.added), line.removed) == (False, 1, ())


def test_it_shows_every_format(answer: dict[str, Any]) -> None:
    assert answer["status"] == 200
    rows = re.findall(r'<th scope="row">(.*?)</th>\s*<td>(.*?)</td>', answer["text"])
    assert rows == [(suffix, row.words) for suffix, row in FORMATS.items()]
    assert "<title>Formats · Placeto Explorer</title>" in answer["text"]
    assert answer["text"].count("GraphDef with devices") == sum(bool(row.write) for row in FORMATS.values())


def test_it_has_the_headers_of_all_pages_and_is_only_read(answer: dict[str, Any]) -> None:
    for name in ("Content-Security-Policy", "X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy"):
        assert answer["headers"][name] == answer["of_others"][name]
    assert "default-src 'none'" in answer["headers"]["Content-Security-Policy"]
    assert answer["sent"] == 405
