"""The table of verdicts: each row is measured once, and gains within the error are counted."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from experiments import verdicts
from experiments.verdicts import Subject
from tests.engine.small_runs import prepared_graph


def test_a_second_call_measures_nothing_and_the_rows_are_those_of_a_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    read: list[int] = []

    def prepared(ops: int) -> Any:
        read.append(ops)
        return prepared_graph(ops)

    made = [Subject("zoo", f"of {ops}", partial(prepared, ops)) for ops in (8, 12)]
    monkeypatch.setattr(verdicts, "subjects", lambda: iter(made))
    monkeypatch.setattr(verdicts, "CLUSTERS", ("2xK80",))
    monkeypatch.setattr(verdicts, "EVALUATIONS", 50)
    page = verdicts.run(tmp_path, lambda _: None)
    assert verdicts.run(tmp_path, lambda _: None) == page == (tmp_path / "verdicts.md").read_text()
    assert read == [12, 8], "the last ones first: they are the small ones"
    rows = json.loads((tmp_path / "verdicts.json").read_text())
    assert [row["graph"] for row in rows] == ["of 8", "of 12"]
    for row in rows:
        assert row["simplest"]["step_time_us"] <= 1.01 * row["step_time_us"] + 1e-9
        assert row["simplest"]["crossing_edges"] <= row["crossing_edges"]
        assert f"{row['crossing_edges']:,} | {row['simplest']['crossing_edges']:,} |" in page


def test_gains_within_the_error_are_counted_by_kind_of_graph() -> None:
    def row(gain: float, kind: str, edges: int, fewer: int) -> dict[str, Any]:
        simplest = {"crossing_edges": fewer}
        return {"kind": "zoo", "crossing_edges": edges, "simplest": simplest, "verdict": {"gain": gain, "kind": kind}}

    rows = [row(0.3, "split", 90, 9), row(0.02, "one_device", 30, 3), row(0.0, "one_device", 0, 0)]
    infeasible = {"kind": "zoo", "simplest": None, "verdict": {"kind": "infeasible"}}
    reported = "- zoo: 1 of 2 gains over one device are within the error; 120 crossing edges become 12."
    assert verdicts._summed_up([*rows, infeasible]) == reported
