"""docs/my-graph-does-not-load.md quotes sentences that files really get: the tests hold each of them."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "my-graph-does-not-load.md").read_text()
QUOTED = re.findall(r"^\| `([^`]+)` \|[^|]+\|[^|]+\|$", PAGE, flags=re.MULTILINE)


def test_every_row_of_a_table_quotes_a_sentence() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("|")]
    assert len(QUOTED) > 30
    assert len(QUOTED) == len(rows) - 2 * PAGE.count("|---|---|---|")  # without heads and their rules


@pytest.mark.parametrize("sentence", QUOTED)
def test_a_test_holds_the_sentence(sentence: str) -> None:
    folders = (ROOT / "tests" / "engine", ROOT / "tests" / "webapp")
    assert any(sentence in path.read_text() for folder in folders for path in folder.rglob("test_*.py"))
