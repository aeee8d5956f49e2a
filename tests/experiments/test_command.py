"""`python -m experiments`: its names, its help, the settings of `--set`, and the benchmarks."""

import dataclasses

import pytest

from engine.settings.fields import declarations
from experiments import registry
from experiments.__main__ import SCOPED, main
from experiments.registry import BENCHMARKS, EXPERIMENTS
from tests.experiments.measurements import arguments_of, first_line


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_its_words_are_the_first_line_of_its_module_and_it_takes_settings_if_it_says_so(name: str) -> None:
    experiment = EXPERIMENTS[name]
    assert experiment.words() == first_line(experiment)
    arguments = arguments_of(experiment)
    assert arguments[:2] == ["folder", "report"]
    assert ("settings" in arguments) == experiment.scoped


def test_the_help_says_what_each_does_and_how_long_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    for name, row in EXPERIMENTS.items():
        assert f"{name} {row.words()} Takes {row.takes}." in shown
    assert "(default docs/results; docs for devices and families and zoo)" in shown


@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_words_of_a_benchmark_are_the_first_line_of_its_module_and_it_takes_nothing(name: str) -> None:
    assert BENCHMARKS[name].words() == first_line(BENCHMARKS[name])
    assert arguments_of(BENCHMARKS[name]) == []


def test_the_help_of_the_benchmarks(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["bench", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    for name, row in BENCHMARKS.items():
        assert f"{name} {row.words()} Takes {row.takes}." in shown


def test_a_benchmark_prints_its_text(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    row = registry.Measuring("tests.experiments.measurements:quick_benchmark", "no time")
    monkeypatch.setitem(BENCHMARKS, "sizes", row)
    assert main(["bench", "sizes"]) == 0
    assert capsys.readouterr().out == "| quick |\n"


@pytest.mark.parametrize("name", SCOPED)
def test_a_line_a_setting(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--settings"]) == 0
    lines = capsys.readouterr().out.splitlines()
    scope = EXPERIMENTS[name].make_scope()({})
    assert [line.partition("=")[0] for line in lines] == [field.name for field in dataclasses.fields(scope)]
    assert {line for line in lines if line.startswith("cache=")} <= {
        'cache=".cache/families"; allowed: a text; folder of the families\' graphs',
        'cache=""; allowed: a text; folder for recordings and graphs; empty: the user\'s cache folder',
    }
    assert all(each.sentence for each in declarations(scope).values())


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["table1", "--set", "seeds=1"], f"--set: table1 has no settings; allowed: with {', '.join(SCOPED)}"),
        (["table1", "--settings"], f"--settings: table1 has no settings; allowed: with {', '.join(SCOPED)}"),
        (["models", "--set", "only=gpt"], "models: it stands beside the tests; allowed: python -m tests.models"),
        (["zero_shot", "--set", "seeds=0", "--settings"], "seeds: 0; allowed: an integer from 1 to 1000"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err == line + "\n"
