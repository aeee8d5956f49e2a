"""The command `choose`, as a person runs it."""

import json
from pathlib import Path

import pytest

from engine.cli.main import main
from tests.engine.plans.layered_step import files

pytestmark = pytest.mark.slow


def test_the_cheapest_cards_for_a_throughput(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = files(tmp_path)
    out = tmp_path / "choice.json"
    command = ["choose", str(one), "--second", str(two), "--cluster", "3xV100", "--batch", "36", "--seconds", "3"]
    assert main([*command, "--groups", "all", "--reach", "15000", "--price", "v100=2.5", "--report", str(out)]) == 0
    report = json.loads(out.read_text())
    assert report["reach"] == 15000 and report["parts"][-1]["kinds"] == "2xV100"
    assert report["parts"][0]["plan"] is None and report["parts"][-1]["price_per_hour"] == 5.0
    printed = capsys.readouterr()
    assert printed.out.startswith("2xV100 reaches 15000 samples a second: ")
    assert "2xV100: " in printed.err.splitlines()[-1]


def test_what_a_second_card_brings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = files(tmp_path)
    command = ["choose", str(one), "--second", str(two), "--cluster", "V100", "--batch", "36", "--seconds", "3"]
    assert main([*command, "--one-more", "V100"]) == 0
    now, then, _ = capsys.readouterr().out.splitlines()
    assert now.startswith("now V100: ") and then.startswith("with one more V100, 2xV100: ")
    assert 60 < float(then.rpartition(" or ")[2].split()[0]) < 100


def test_what_no_part_reaches_ends_with_status_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, _ = files(tmp_path)
    command = ["choose", str(one), "--cluster", "2xV100", "--batch", "4", "--seconds", "1", "--reach", "1e9"]
    assert main(command) == 3
    assert "no part of the cluster was found to reach 1e+09 samples a second" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["--reach", "5", "--one-more", "V100"]])
def test_it_answers_one_question(tmp_path: Path, words: list[str]) -> None:
    one, _ = files(tmp_path)
    with pytest.raises(SystemExit):
        main(["choose", str(one), "--cluster", "2xV100", "--batch", "4", *words])


def test_a_report_does_not_take_the_place_of_the_graph(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, _ = files(tmp_path)
    before = one.read_bytes()
    command = ["choose", str(one), "--cluster", "2xV100", "--batch", "4", "--reach", "5", "--report", str(one)]
    assert main(command) == 2
    assert "is the file of the graph" in capsys.readouterr().err and one.read_bytes() == before
