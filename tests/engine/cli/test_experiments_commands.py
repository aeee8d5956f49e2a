"""What the names of `bench` and `experiments` stand for: told, there, and with settings where they say so."""

import ast
from pathlib import Path

import pytest

from engine.cli.experiments import BENCHMARKS, EXPERIMENTS, Measuring
from engine.cli.main import main

ROOT = Path(__file__).resolve().parents[3]
EVERY = {**BENCHMARKS, **EXPERIMENTS}


def source(measuring: Measuring) -> ast.Module:
    return ast.parse(ROOT.joinpath(*measuring.function.partition(":")[0].split(".")).with_suffix(".py").read_text())


@pytest.mark.parametrize("name", EVERY)
def test_it_is_told_by_the_first_line_of_its_module(name: str) -> None:
    whole = ast.get_docstring(source(EVERY[name]))
    assert whole is not None
    assert EVERY[name].words() == whole.splitlines()[0]


@pytest.mark.parametrize("name", EVERY)
def test_its_function_is_there_and_takes_settings_if_it_says_so(name: str) -> None:
    wanted = EVERY[name].function.partition(":")[2]
    (function,) = [
        each for each in source(EVERY[name]).body if isinstance(each, ast.FunctionDef) and each.name == wanted
    ]
    arguments = [argument.arg for argument in function.args.args]
    assert arguments[:2] == ([] if name in BENCHMARKS else ["folder", "tell"])
    assert ("settings" in arguments) == EVERY[name].scoped


@pytest.mark.parametrize("command", ["bench", "experiments"])
def test_the_help_says_what_each_does_and_how_long_it_takes(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    told = " ".join(capsys.readouterr().out.split())
    for name, row in (BENCHMARKS if command == "bench" else EXPERIMENTS).items():
        assert f"{name} {row.words()} Takes {row.takes}." in told
