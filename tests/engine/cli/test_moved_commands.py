"""The commands `bench` and `experiments` of earlier versions name those that replaced them."""

import pytest

from engine.cli.main import main


@pytest.mark.parametrize("arguments", [[], ["table1"], ["zero_shot", "--set", "seeds=1"]])
def test_the_old_name_of_the_experiments_names_the_new_one(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["experiments", *arguments]) == 2
    line = "experiments: experiments have a command of their own; allowed: python -m experiments\n"
    assert capsys.readouterr().err == line


@pytest.mark.parametrize("arguments", [[], ["simulator"]])
def test_the_old_name_of_the_benchmarks_names_the_new_one(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *arguments]) == 2
    line = "bench: benchmarks stand beside the experiments; allowed: python -m experiments bench\n"
    assert capsys.readouterr().err == line
