"""The command `plan`, as a person runs it."""

import json
from pathlib import Path

import pytest

from engine.cli.main import main
from tests.engine.plans.layered_step import LAYERS, files

pytestmark = pytest.mark.slow


def test_two_cards_halve_a_batch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = files(tmp_path)
    out = tmp_path / "plan.json"
    command = ["plan", str(one), "--second", str(two), "--cluster", "2xV100", "--batch", "32", "--groups", "all"]
    assert main([*command, "--seconds", "5", "--report", str(out)]) == 0
    report = json.loads(out.read_text())
    best, others = report["plans"][0], report["plans"][1:]
    assert [row["devices"] for row in best["replicas"]] == [[0], [1]]
    assert {row["micro_batch"] * row["micro_batches"] for row in best["replicas"]} == {16}
    assert all(plan["batch_time_us"] >= best["batch_time_us"] for plan in others)
    (passes_us,) = {16 * LAYERS * 30}
    assert best["batch_time_us"] > passes_us and best["reduced"][0]["bytes"] == LAYERS * 4000
    assert report["usual"]["data_parallel"]["batch_time_us"] >= best["batch_time_us"]
    assert report["read_at"] == [1, 2] and report["batch"] == 32 and len(report["groups"]) == 3 * LAYERS
    printed = capsys.readouterr().out
    assert "GPU:0: " in printed and "what people do:" in printed and "a replica on each GPU" in printed


def test_with_one_reading_micro_batches_have_its_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, two = files(tmp_path)
    out = tmp_path / "plan.json"
    assert main(["plan", str(two), "--cluster", "2xV100", "--batch", "8", "--seconds", "5", "--report", str(out)]) == 0
    for plan in json.loads(out.read_text())["plans"]:
        assert sum(row["micro_batches"] for row in plan["replicas"]) == 4
        assert {row["micro_batch"] for row in plan["replicas"]} == {2}
    assert "outside" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--batch", "3"], "cannot be divided into micro-batches of 2"),
        (["--batch", "0"], "0 samples"),
        (["--batch", "4", "--pipeline", "ring"], "'ring' is not known"),
        (["--batch", "4", "--second", "two.json"], "both are one file"),
        (["--batch", "4", "--seconds", "-1"], "-1.0 seconds"),
        (["--batch", "4", "--report", "two.json"], "--report: two.json is the file of the graph"),
        (["--batch", "4", "--second", "one.json", "--report", "one.json"], "one.json is the file of --second"),
        (["--batch", "4", "--profile", "one.json", "--report", "one.json"], "one.json is the file of --profile"),
        (["--batch", "4", "--price", "V100"], "--price: V100 is no price; allowed: KIND=PRICE"),
        (["--batch", "4", "--price", "v100=1", "--price", "V100=2"], "V100 is there twice"),
        (["--batch", "4", "--price", "K80=1"], "the cluster has no K80; allowed: V100"),
        (["--batch", "4", "--price", "V100=-1"], "price_per_hour of /device:GPU:0: -1.0"),
    ],
)
def test_one_sentence_says_what_is_wrong(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    expected: str,
) -> None:
    files(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["plan", "two.json", "--cluster", "2xV100", *words]) == 2
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert expected in last
