"""Simulated beside measured, with measurements in closed form: placements, resuming, the page, and a noisy machine."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine import api
from engine.errors import NoisyMachineError, SettingsError
from engine.measuring import this_machine
from experiments import fidelity
from experiments.explained import tables
from experiments.fidelity import MeasuredGraph, chosen
from tests.engine.small_runs import prepared_graph

MACHINE: dict[str, api.Json] = {
    "devices": [{"name": f"/device:CPU:{index}", "kind": "CPU"} for index in range(2)],
    "calibration": {"machine": "2 × a processor", "date": "2026-01-31", "figures": {}},
}


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What was measured: a small graph stands for all, nothing is run, and measured steps are twice the simulated."""
    made: list[dict[str, Any]] = []
    machine = api.parse_cluster(json.dumps(MACHINE))

    def measure_many(path: Path, _suffix: str, placements: list[api.Json], *_: object, **more: Any) -> dict[str, Any]:
        made.append({"path": path, "placements": placements, **more})
        reports: Any = api.simulate(prepared_graph(20), machine, placements)
        times = [report["step_time_us"] for report in reports]
        rows = [{"simulated_step_time_us": time_us, "step_time_us": 2 * time_us} for time_us in times]
        of: dict[str, Any] = dict.fromkeys(("spearman", "kendall_fastest", "ordered_pairs"), 1.0)
        of |= {"reachable_spearman": None, "pairs": 1770, "top_1_regret": 0.0}
        of |= {"top_1_regret_cross_checked": -0.012, "top_1_regret_error": 0.004}
        of |= dict.fromkeys(("median_ratio", "least_ratio", "greatest_ratio"), 2.0)
        return {"placements": rows, "noise": 0.01, "spread": 0.2, "fidelity": of}

    monkeypatch.setattr(this_machine, "machine_words", lambda: "2 × a processor")
    monkeypatch.setattr(fidelity, "WORK", tmp_path / "work")
    monkeypatch.setattr(fidelity, "GRAPHS", (MeasuredGraph("nmt", {"batch": 2}),))
    monkeypatch.setattr(fidelity, "EVALUATIONS", 60)
    monkeypatch.setattr(fidelity, "METHODS", {"single_device": 1})
    monkeypatch.setattr(fidelity, "SEARCHES", {"brkga": 2})
    monkeypatch.setattr("engine.api.calibrate", lambda *_: machine)
    monkeypatch.setattr("engine.api.build", lambda _name, path, *_: path.write_bytes(b"graph"))
    monkeypatch.setattr("engine.api.profile", lambda _path, _suffix, out, *_, **__: out.write_bytes(b"profile"))
    monkeypatch.setattr("engine.api.prepare", lambda *_: prepared_graph(20))
    monkeypatch.setattr("engine.api.measure_many", measure_many)
    monkeypatch.setattr("engine.api.measure", lambda *_, **__: traced(2.0))
    return made


def traced(slower: float) -> dict[str, Any]:
    """A report of a step whose parts take `slower` times as long as simulated: 2 ms of each of 12 op types, a link."""
    both = {"simulated_us": 2000.0, "measured_us": slower * 2000.0}
    shares = {"busy_us": 30_000.0, "resting_us": 0.0, "receiving_us": 1000.0, "waiting_us": 0.0, "outside_us": 0.0}
    parts = {
        side: {name: of * share for name, share in shares.items()}
        for side, of in (("measured", slower), ("simulated", 1.0))
    }
    sent: dict[str, float] = {f"{side}_{name}": 3 for side in ("measured", "simulated") for name in ("count", "bytes")}
    sent |= {"measured_covered_us": slower * 500.0, "simulated_covered_us": 500.0}
    held = {"device": "a", "peak_bytes": 900 * 10**6, "simulated_peak_bytes": 10**9, "measured_over_simulated": 0.9}
    return {
        "step_time_us": slower * 50_000.0,
        "simulated_step_time_us": 50_000.0,
        "difference": {
            "devices": [{"device": "a", **parts}],
            "op_types": {"rows": [{"type": f"Type{n}", **both} for n in range(12)], "rest": {"rows": 0, **both}},
            "links": {"rows": [{"source": "a", "target": "b", **sent}]},
        },
        "memory": [held],
        "notes": [],
    }


def test_sixty_placements_are_simulated_in_three_ways(calls: list[dict[str, Any]], tmp_path: Path) -> None:
    text = fidelity.run(tmp_path, lambda _: None)
    assert text == (tmp_path / "fidelity.md").read_text() and (tmp_path / "fidelity.png").exists()
    assert (
        "| nmt, batch 2: calibrated | 1.0% | 20.0% | 1.00 |  | 1.00 | 100.0% of 1,770 | 0.0% | -1.2% ± 0.4% | 2.00 |"
        in text
    )
    assert "2 × a processor, calibrated on 2026-01-31" in text
    before, calibrated, with_profile = calls
    assert before["cluster"].calibration is None and calibrated["cluster"].calibration is not None
    assert calibrated["run_metadata"] is None and with_profile["run_metadata"].read_bytes() == b"profile"
    assert before["kept"] == calibrated["kept"] == with_profile["kept"]
    assert before["placements"] == calibrated["placements"] == with_profile["placements"]
    assert "| random, half apart, a | 100.0 | 50.0 | 60.0 | 30.0 | 2.0 | 1.0 | 0.0 | 0.0 | 900 | 1,000 | 0.90 |" in text
    kept = tmp_path / "kept" / "fidelity"
    (kept / "nmt-batch_2.reports_of_3x5.json").unlink()
    fidelity.run(tmp_path, lambda _: None)
    assert calls[3]["placements"] == before["placements"], "kept rounds belong to the same placements"


def test_another_machine_writes_the_page_from_whole_measurements_and_else_refuses(
    calls: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = fidelity.run(tmp_path, lambda _: None)
    done, kept = len(calls), tmp_path / "kept" / "fidelity"
    for module in (this_machine, fidelity):
        monkeypatch.setattr(module, "machine_words", lambda: "9 × another one")
    monkeypatch.setattr("engine.api.prepare", lambda *_: pytest.fail("the page needs no graph"))
    (tmp_path / "fidelity.md").unlink()
    assert fidelity.run(tmp_path, lambda _: None) == text == (tmp_path / "fidelity.md").read_text()
    for name in ("explained", "reports_of_3x5"):
        (kept / f"nmt-batch_2.{name}.json").unlink()
        with pytest.raises(SettingsError) as raised:
            fidelity.run(tmp_path, lambda _: None)
        assert str(raised.value) == (
            f"{kept}: it holds measurements of 2 × a processor; this machine is 9 × another one; "
            "remove this folder to measure this machine"
        )
    assert len(calls) == done


def test_random_ones_use_every_share_and_methods_are_among_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fidelity, "EVALUATIONS", 60)
    found = chosen(prepared_graph(20), json.dumps(MACHINE))
    random, rest = found[: fidelity.RANDOM], found[fidelity.RANDOM :]
    assert np.all(np.diff(random.mean(axis=1)[[0, 10, 19]]) > 0)
    assert len(rest) >= fidelity.ALONG + sum(fidelity.SEARCHES.values())
    assert any(len(np.unique(placement)) == 1 for placement in rest), "one device is a method's answer"


def refusing(error: SettingsError) -> Callable[..., None]:
    def refuse(*_: object, **__: object) -> None:
        raise error

    return refuse


def test_a_noisy_machine_is_said_on_the_page_and_measured_anew(
    calls: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measuring = api.measure_many
    noisy = NoisyMachineError("the machine is too noisy", where="measure", allowed="a quiet one")
    monkeypatch.setattr("engine.api.measure_many", refusing(noisy))
    text = fidelity.run(tmp_path, lambda _: None)
    assert "- nmt, batch 2: measure: the machine is too noisy; allowed: a quiet one" in text
    assert not calls
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(this_machine, "machine_words", lambda: "9 × another one")
        assert fidelity.run(tmp_path, lambda _: None) == text
    monkeypatch.setattr("engine.api.measure_many", measuring)
    assert "too noisy" not in fidelity.run(tmp_path, lambda _: None) and len(calls) == 3


def test_what_is_refused_for_another_reason_ends_the_experiment(
    calls: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.api.measure_many", refusing(SettingsError("of another graph", where="--kept")))
    with pytest.raises(SettingsError, match=r"^--kept: of another graph$"):
        fidelity.run(tmp_path, lambda _: None)
    assert not calls and not (tmp_path / "fidelity.md").exists()


def test_the_differences_of_all_traced_placements_add_up() -> None:
    text = "\n".join(tables("a graph", {"one": traced(2.0), "other": traced(3.0)}))
    rows = [line for line in text.splitlines() if line.startswith("| Type")]
    assert len(rows) == 10 and "| Type0 | 10.0 | 4.0 | 2.50 |" in rows
    assert "| others | 30.0 | 12.0 | 2.50 |" in text, "the two other types, and the rest of the reports"
    assert "| a to b | 6 | 6 | 0.0 | 0.0 | 2.5 | 1.0 | 2.50 |" in text
