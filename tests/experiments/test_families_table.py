"""The experiment that writes the families' figures."""

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.zoo.families.catalogue import FAMILIES
from experiments import families_table
from experiments.families_table import FamilyFigures, GraphFigures
from experiments.policies.held_out import SEALED_DIGEST


def figures(name: str, _report: Callable[[str], None], count: int) -> FamilyFigures:
    graphs = tuple(
        GraphFigures(1000 + index, 2000, 160, 700, 1e5 + index, 3 * 10**9, (0.75, 0.5 + index / 10))
        for index in range(2)
    )
    stages = {"loading": 2.5, "building": 1.25}
    return FamilyFigures(name, 22, count - 22, 61.4, 120.2, 2.0, graphs, stages)


def test_the_page_has_a_line_for_each_family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(families_table, "_figures", figures)
    text = families_table.run(tmp_path / "new", lambda _: None)
    assert (tmp_path / "new" / "families.md").read_text() == text
    for name in ("nmt", "ptb", "cifar10"):
        line = f"| {name} | 22, 10 | 1,000–1,001 | 2,000 | 160 | 700 | 100 | 3.0 | 0.75 (0.75) | 0.55 (0.50–0.60) |"
        assert line in text
        assert f"| {name} | 61 | 2.0 | 120 | 2.50 | 1.25 |" in text
    assert "unrolled length 8 to 20 and batch 16, 32, 48, 64, 96, 128, 192 or 256" in text
    assert all(f"- **{name}**: " in text for name in FAMILIES) and "|".join(FAMILIES) in text
    assert "graphs of 9, 13, 17 and 20 words are for testing" in text and SEALED_DIGEST in text
    assert "index 2, 5, 8, 11 and 14" in text
    assert "{" not in text
