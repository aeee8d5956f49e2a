"""docs/my-graph-does-not-load.md has each sentence that the code has, and no other; tests of files hold its quotes."""

import re
from pathlib import Path

import pytest

from tests.refusals import refusals

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "my-graph-does-not-load.md").read_text()
ROWS = re.findall(r"^\| ([^|]+) \|[^|]+\|[^|]+\|$", PAGE, flags=re.MULTILINE)
QUOTED = [quote for row in ROWS for quote in re.findall("`([^`]+)`", row)]
SOURCES = "\n".join(path.read_text() for folder in ("engine", "webapp") for path in (ROOT / folder).rglob("*.py"))


def test_every_row_of_a_table_quotes_a_sentence() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("|")]
    heads = PAGE.count("|---|---|---|")
    assert len(QUOTED) > 60
    assert len(ROWS) == len(rows) - heads  # without the rules below the heads
    assert [row for row in ROWS if "`" not in row] == ["The sentence contains"] * heads


def test_the_page_has_each_sentence_of_the_code() -> None:
    missing = [str(refusal) for refusal in refusals() if not any(map(refusal.is_quoted_by, QUOTED))]
    assert not missing, "add to docs/my-graph-does-not-load.md (a quote of the fixed part):\n" + "\n".join(missing)


@pytest.mark.parametrize("quote", QUOTED)
def test_the_code_has_each_quote_of_the_page(quote: str) -> None:
    assert any(refusal.is_quoted_by(quote) for refusal in refusals()) or quote in SOURCES, "no such sentence any more"
