"""What is wrong with a SavedModel's variables, saver or archive is told in one sentence, and nothing is written."""

from typing import cast

import pytest

from engine.child.parent import Limits, run_in_child

LIMITS = Limits(memory_bytes=8 * 1024**3, seconds=300.0)
FILES = "; allowed: all files of variables that TensorFlow wrote"
NONE = (
    "the upload lacks the files of variables (variables/variables.index and the files beside it), so a placed GraphDef "
    "can be written, but no placed SavedModel"
)
FILL = "; allowed: a SavedModel that restores its variables and initialises its tables"
INDEX, DATA = "variables/variables.index", "variables/variables.data-00000-of-00001"
SENTENCES = {
    "nothing": "",
    "no variables": NONE,
    "no index": NONE,
    "no data": f"{INDEX}: some of its files of variables are missing{FILES}",
    "a part of the data": f"{INDEX}: some of its files of variables are missing{FILES}",
    "an empty index": f"{INDEX}: TensorFlow cannot read it: file is too short to be an sstable{FILES}",
    "an index of zeros": f"{INDEX}: TensorFlow cannot read it: not an sstable (bad magic number){FILES}",
    "a bomb among the variables": f"{DATA}: the entry packs 64.0 MiB into 63.7 KiB; allowed: at most 200 times as many",
    "packed by another method": f"{DATA}: the entry is packed by method 12; allowed: stored, or deflated",
    "a byte of a variable": f"the archive is damaged or cut short: Bad CRC-32 for file '{DATA}'; "
    "allowed: a zip archive of a SavedModel's folder",
    "a key that is not there": f"{INDEX}: it has no tensor absent/.ATTRIBUTES/VARIABLE_VALUE, which the SavedModel "
    f"restores{FILES}",
    "another type": "TensorFlow cannot inline the functions: input values[0] expected type float != int32, the type of "
    "RestoreV2:tensors:1[0]",
    "no saver, no objects": "embedding: the SavedModel has no op that fills this VarHandleOp, so only a placed "
    f"GraphDef can be written{FILL}",
    "no initializer": "hash_table: the SavedModel has no op that fills this HashTableV2, so only a placed "
    f"GraphDef can be written{FILL}",
    "a restoring op that is not there": "saved_model.pb: its variables or tables are filled by absent, which is not in "
    f"the graph{FILL}",
}


@pytest.fixture(scope="module")
def said() -> dict[str, object]:
    """`texts`, the sentence for each damage, and `others`, errors of other types."""
    _, found = run_in_child(
        "tests.engine.placed_saved_models.damages:refusals_in_child", {}, LIMITS, task="damaging", is_warm=True
    )
    return cast(dict[str, object], found)


@pytest.mark.parametrize("damage", SENTENCES)
def test_a_damage_has_its_own_sentence(said: dict[str, object], damage: str) -> None:
    texts = cast(dict[str, str], said["texts"])
    assert texts[damage] == SENTENCES[damage]
    assert texts.keys() == SENTENCES.keys()


def test_whatever_is_changed_only_typed_errors_leave(said: dict[str, object]) -> None:
    assert said["others"] == []
