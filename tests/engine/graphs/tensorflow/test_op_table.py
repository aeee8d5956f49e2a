"""The table of op types is what the installed TensorFlow registers."""

from pathlib import Path
from typing import cast

import pytest

from engine.child.parent import Limits, ReportProgress, Results, run_in_child
from engine.events import Json
from engine.graphs.tensorflow.op_table import TABLE_FILE, Argument, registered_ops, table_of_installed_tensorflow


def table_in_child(_order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """The table as it would be written now."""
    return {}, {"table": table_of_installed_tensorflow()}


def test_the_committed_table_is_that_of_the_installed_tensorflow() -> None:
    _, texts = run_in_child(f"{__name__}:table_in_child", {}, Limits(), task="listing ops", is_warm=True)
    assert cast(str, texts["table"]) == TABLE_FILE.read_text(), "run: python -m engine.graphs.tensorflow.op_table"


@pytest.mark.parametrize(
    ("text", "argument"),
    [
        ("T", Argument("T")),
        ("DT_FLOAT", Argument("DT_FLOAT")),
        ("&T", Argument("T", is_ref=True)),
        ("N*T", Argument("T", number="N")),
        ("&N*T", Argument("T", number="N", is_ref=True)),
        ("Tin[]", Argument("Tin", is_list=True)),
    ],
)
def test_an_argument_is_read_and_written(text: str, argument: Argument) -> None:
    assert Argument.parse(text) == argument
    assert str(argument) == text


def test_a_few_signatures_that_everybody_knows() -> None:
    ops = registered_ops()
    assert [str(argument) for argument in ops["MatMul"].inputs] == ["T", "T"]
    assert [str(argument) for argument in ops["Assign"].inputs] == ["&T", "T"]
    assert [str(argument) for argument in ops["Switch"].outputs] == ["T", "T"]
    assert [str(argument) for argument in ops["ConcatV2"].inputs] == ["N*T", "Tidx"]
    assert ops["NoOp"].inputs == ops["NoOp"].outputs == ()
