"""Machine code on disk: kept between processes, and never older than any of the sources that went into it."""

import subprocess
import sys
from pathlib import Path

import pytest

from engine.files.compiled import compiled, inlined

INNER = """
from engine.files.compiled import {decorator}

@{decorator}
def step(number):
    return number + {amount}
"""
OUTER = """
from engine.files.compiled import compiled
from inner import step

@compiled
def twice(number):
    return step(step(number))
"""
FURTHER_DOWN = """
from engine.files.compiled import compiled
from inner import AMOUNT

@compiled
def twice(number):
    return step(step(number))

@compiled
def step(number):
    return number + [AMOUNT for _ in range(1)][0]
"""
CALL = """
from engine.files.compiled import compiled_anew
from outer import twice

before = compiled_anew()
print(twice(1), sum(twice.stats.cache_hits.values()), "twice" in compiled_anew(), before)
"""


def called(folder: Path) -> list[str]:
    """What a fresh process prints: the answer, how often its code came from disk, whether it was compiled anew, and
    what was before the call."""
    folders = f"{folder}:{Path(__file__).parents[3]}"
    run = [sys.executable, "-B", "-c", CALL]
    return subprocess.run(run, env={"PYTHONPATH": folders}, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.slow
@pytest.mark.parametrize("decorator", ["compiled", "inlined"])
def test_a_change_in_a_called_function_of_another_file_is_seen(tmp_path: Path, decorator: str) -> None:
    (tmp_path / "outer.py").write_text(OUTER)
    (tmp_path / "inner.py").write_text(INNER.format(decorator=decorator, amount=1))
    assert called(tmp_path) == ["3", "0", "True", "[]"]
    assert called(tmp_path) == ["3", "1", "False", "[]"]
    (tmp_path / "inner.py").write_text(INNER.format(decorator=decorator, amount=5))
    assert called(tmp_path) == ["11", "0", "True", "[]"]


@pytest.mark.slow
def test_a_changed_constant_of_a_function_further_down_is_seen(tmp_path: Path) -> None:
    (tmp_path / "outer.py").write_text(FURTHER_DOWN)
    for amount, answer in ((1, "3"), (5, "11")):
        (tmp_path / "inner.py").write_text(f"AMOUNT = {amount}\n")
        assert called(tmp_path) == [answer, "0", "True", "[]"]
        assert called(tmp_path) == [answer, "1", "False", "[]"]


def test_compiled_functions_can_still_be_read(tmp_path: Path) -> None:
    @inlined
    def half(number: float) -> float:
        return number / 2

    @compiled
    def quarter(number: float) -> float:
        return half(half(number))

    assert quarter(2.0) == 0.5
    assert quarter.__name__ == "quarter"


def test_where_no_folder_can_be_written_a_warning_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.files import compiled as module

    def nowhere(function: object) -> None:
        raise RuntimeError("no locator available")

    def plus(number: int) -> int:
        return number + 1

    monkeypatch.setattr(module, "_DigestCache", nowhere)
    with pytest.warns(UserWarning, match="compiled code is not kept: no locator available"):
        assert compiled(plus)(1) == 2
