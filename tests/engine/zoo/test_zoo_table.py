"""The experiment that puts the zoo in figures."""

from pathlib import Path

import pytest

from engine.clusters.device_kinds import COSTED_KINDS
from experiments import zoo_table
from experiments.zoo_table import ROWS, Figures, ZooRow


def test_the_tiny_network_by_hand() -> None:
    figures = zoo_table._figures(ZooRow("tiny_cnn"))
    assert figures.parameters == 27 * 8 + 16 + 72 * 8 + 16 + 8 * 8 + 16 + 16 * 10 + 10
    stem, wide, narrow, logits = 4 * 256 * 8 * 27, 4 * 64 * 8 * 72, 4 * 64 * 8 * 8, 4 * 16 * 10
    assert figures.operations == 2 * 3 * (stem + wide + narrow + logits), (
        "the images' gradient, which nobody needs, too"
    )
    averages, step = 2 * 3 * 8, 8
    assert figures.persistent_bytes == 4 * (2 * figures.parameters + averages) + step
    assert figures.peak_bytes > figures.persistent_bytes
    assert list(figures.step_time_us) == list(COSTED_KINDS)


def test_the_page_has_a_line_for_each_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step_time_us = dict.fromkeys(COSTED_KINDS, 5e5)
    monkeypatch.setattr(zoo_table, "_figures", lambda row: Figures(row, 14_236, 10**9, 7, 10**9, 10**10, step_time_us))
    reported: list[str] = []
    text = zoo_table.run(tmp_path / "new", reported.append)
    assert (tmp_path / "new" / "zoo.md").read_text() == text
    assert reported == [row.command for row in ROWS]
    for row in ROWS:
        assert text.count(f"\n| `{row.command}` |") == 2
    assert "+10%" in text, "of the paper's 12,942 ops"
    assert "{" not in text
