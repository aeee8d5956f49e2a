"""What the names of `bench` stand for; and `experiments`, which has moved."""

import pytest

from engine.cli.bench import BENCHMARKS
from engine.cli.main import main
from tests.engine.cli.measurements import arguments_of, first_line


@pytest.mark.parametrize("name", BENCHMARKS)
def test_its_words_are_the_first_line_of_its_module_and_its_function_takes_nothing(name: str) -> None:
    assert BENCHMARKS[name].words() == first_line(BENCHMARKS[name])
    assert arguments_of(BENCHMARKS[name]) == []


def test_the_help_says_what_each_does_and_how_long_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["bench", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    for name, row in BENCHMARKS.items():
        assert f"{name} {row.words()} Takes {row.takes}." in shown


@pytest.mark.parametrize("arguments", [[], ["table1"], ["zero_shot", "--set", "seeds=1"]])
def test_the_old_name_of_the_experiments_names_the_new_one(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["experiments", *arguments]) == 2
    line = "experiments: experiments have a command of their own; allowed: python -m experiments\n"
    assert capsys.readouterr().err == line
