"""The experiment on the policy that ships: its page, from results by hand and from a small run of its own."""

from pathlib import Path
from typing import Any

import pytest

from engine.errors import SettingsError
from experiments.grid import KeptResults
from experiments.policies import shipped
from experiments.policies.shipped import (
    ALONE,
    LEFT_OUT,
    PASSES,
    WITH_POLICY,
    MeasuredPart,
    ShippedScope,
    key_of,
    make_shipped_scope,
    page,
    parts,
)

SCOPE = ShippedScope(seconds=0.05, seeds=1, graphs=1, drawn=2)
ROW: dict[str, Any] = {name: [200.0, 110.0] for name in PASSES} | {
    ALONE: [110.0],
    WITH_POLICY: [100.0],
    LEFT_OUT: False,
}


def cells(text: str, answer: str) -> list[str]:
    [line] = [line for line in text.splitlines() if line.startswith(f"| {answer} |")]
    return [cell.strip() for cell in line.split("|")[2:-1]]


def test_gaps_are_to_the_best_of_all_answers_and_misfits_count_whole(tmp_path: Path) -> None:
    kept = KeptResults(tmp_path / "kept.jsonl")
    misfit = ROW | {"greedy pass": [None, 105.0], LEFT_OUT: True}
    for part in parts(SCOPE):
        kept.add(key_of(SCOPE, part, "digest"), {"a problem": misfit if part.column == "zoo" else ROW})
    text = page(kept, SCOPE, "digest")
    assert [cell.split()[0] for cell in cells(text, "best list schedule")] == ["+100.0"] * 5
    assert [cell.split()[0] for cell in cells(text, "best list schedule, swept")] == ["+10.0"] * 5
    assert [cell.split()[0] for cell in cells(text, "greedy pass")] == ["+100.0"] * 5
    assert [cell.split()[0] for cell in cells(text, "greedy pass, swept")] == ["+10.0"] * 3 + ["+5.0", "+10.0"]
    assert [cell.split()[0] for cell in cells(text, "mean")] == ["-9.1"] * 5
    assert cells(text, "policy left out") == ["0 of 1"] * 3 + ["4 of 4", "0 of 1"]


def test_problems_on_which_nothing_fits_count_in_no_mean(tmp_path: Path) -> None:
    kept = KeptResults(tmp_path / "kept.jsonl")
    nothing = ROW | {name: [None, None] for name in PASSES} | {ALONE: [None], WITH_POLICY: [None]}
    for part in parts(SCOPE):
        rows: dict[str, Any] = {"one": ROW, "another": nothing} if part.column == "drawn" else {"a problem": ROW}
        kept.add(key_of(SCOPE, part, "digest"), rows)
    text = page(kept, SCOPE, "digest")
    assert cells(text, "problems on which nothing fits") == ["0 of 1"] * 3 + ["0 of 4", "1 of 2"]
    assert [cell.split()[0] for cell in cells(text, "greedy pass, swept")] == ["+10.0"] * 5
    assert cells(text, "policy left out")[-1] == "0 of 1"


def test_another_policy_is_measured_anew_and_the_number_of_processes_changes_nothing() -> None:
    part = MeasuredPart("zoo", "nasnet")
    assert key_of(SCOPE, part, "one") != key_of(SCOPE, part, "another")
    assert key_of(SCOPE, part, "one") == key_of(
        make_shipped_scope({"seconds": 0.05, "seeds": 1, "graphs": 9, "drawn": 2, "processes": 7}), part, "one"
    )
    with pytest.raises(SettingsError, match="graphs"):
        make_shipped_scope({"graphs": 11})


def test_a_child_measures_drawn_problems_wherever_it_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    part = MeasuredPart("drawn", "0")
    found: Any = shipped.in_child(dict(key_of(SCOPE, part, "digest")), Path(), lambda *_: None)[1]["result"]
    assert found.keys() == {"drawn/0", "drawn/1"}
    for row in found.values():
        assert row.keys() == {*PASSES, ALONE, WITH_POLICY, LEFT_OUT}
        for name in PASSES:
            plain_us, swept_us = row[name]
            assert plain_us is None or swept_us <= plain_us
        assert len(row[ALONE]) == 1
