"""Checks that a SavedModel's files of variables hold the tensors that are restored from them.

Runs in a child. Only the index of the files is read: it lists the tensors in the others.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tensorflow.python.framework import errors_impl
from tensorflow.python.training import py_checkpoint_reader

from engine.errors import GraphError, shortened
from engine.formats.saved_model.archive import VARIABLES_INDEX, SavedModelArchive
from engine.formats.saved_model.captured_variables import RESTORE, text_constant
from engine.graphs.origin import NO_VARIABLES
from engine.graphs.tensorflow.messages import Message

VARIABLES_PREFIX = VARIABLES_INDEX.removesuffix(".index")
"""prefix of the files' names"""
MOST_INDEX_BYTES = 64 * 1024**2
ALLOWED = "all files of variables that TensorFlow wrote"
_DATA = re.compile(rf"{VARIABLES_PREFIX}\.data-(\d{{5}})-of-(\d{{5}})")


def trim_restores(nodes: Sequence[Message]) -> list[Message]:
    """Let each RestoreV2 in `nodes` read only the tensors that other nodes take; returns the constants for that.

    Raises GraphError where the names of tensors are no constants.
    """
    node_of_name = {node.name: node for node in nodes}
    made: list[Message] = []
    for node in nodes:
        if node.op != RESTORE:
            continue
        places = _places(nodes, node.name)
        outputs = sorted({output for _, _, output in places})
        for at, key in ((1, "names"), (2, "slices")):
            texts = _texts(node_of_name.get(node.input[at].partition(":")[0]), node)
            made.append(text_constant(f"{node.name}/{key}", [texts[output] for output in outputs]))
            node.input[at] = made[-1].name
        types = list(node.attr["dtypes"].list.type)
        node.attr["dtypes"].list.type[:] = [types[output] for output in outputs]
        for consumer, position, output in places:
            consumer.input[position] = f"{node.name}:{outputs.index(output)}"
    return made


def _places(nodes: Iterable[Message], name: str) -> list[tuple[Message, int, int]]:
    """(consumer, position of its input, output) for each use of an output of the op `name`."""
    return [
        (node, position, int(output or 0))
        for node in nodes
        for position, (source, _, output) in enumerate(text.partition(":") for text in node.input)
        if source == name
    ]


def _texts(constant: Message | None, restore: Message) -> list[bytes]:
    """[outputs of `restore`] the constant's text for each output. Raises GraphError where it is no constant."""
    count = len(restore.attr["dtypes"].list.type)
    texts = [] if constant is None else list(constant.attr["value"].tensor.string_val)
    texts += texts[-1:] * (count - len(texts))  # a constant leaves out repetitions of its last value
    if len(texts) != count:
        what = "the names of its tensors are not constants"
        raise GraphError(what, where=shortened(restore.name), allowed="names of tensors as constants", field="file")
    return texts


def require_stored(nodes: Iterable[Message], archive: SavedModelArchive, folder: Path) -> None:
    """Raise GraphError unless the archive's files hold the tensors that the RestoreV2 in `nodes` read.

    Leaves the index in `folder`. Does not check the other files' bytes against the index.
    """
    restored = dict(_restored(nodes))
    if not restored:
        return
    _require_files(archive)
    (folder / VARIABLES_INDEX).parent.mkdir()
    (folder / VARIABLES_INDEX).write_bytes(archive.read(VARIABLES_INDEX, MOST_INDEX_BYTES))
    try:
        reader = py_checkpoint_reader.NewCheckpointReader(str(folder / VARIABLES_PREFIX))
        types = reader.get_variable_to_dtype_map()
    except (errors_impl.OpError, RuntimeError, ValueError) as refusal:
        what = f"TensorFlow cannot read it: {shortened(str(refusal).strip(), 200)}"
        raise GraphError(what, where=VARIABLES_INDEX, allowed=ALLOWED, field="file") from None
    for key, number in restored.items():
        if key not in types:
            what = f"it has no tensor {shortened(key)}, which the SavedModel restores"
            raise GraphError(what, where=VARIABLES_INDEX, allowed=ALLOWED, field="file")
        if types[key].as_datatype_enum != number:
            what = f"the tensor {shortened(key)} is of type {types[key].name}, but another type is restored"
            raise GraphError(what, where=VARIABLES_INDEX, allowed=ALLOWED, field="file")


def _restored(nodes: Iterable[Message]) -> Iterator[tuple[str, int]]:
    """The name and the type of each tensor that is restored."""
    node_of_name = {node.name: node for node in nodes}
    for node in node_of_name.values():
        if node.op == RESTORE:
            keys = _texts(node_of_name.get(node.input[1].partition(":")[0]), node)
            types = node.attr["dtypes"].list.type
            yield from zip((key.decode("utf-8", "replace") for key in keys), types, strict=True)


def _require_files(archive: SavedModelArchive) -> None:
    """Raise GraphError unless the index and all numbered data files exist."""
    if VARIABLES_INDEX not in archive.names:
        raise GraphError(NO_VARIABLES, field="file")
    found = [match for name in archive.names if (match := _DATA.fullmatch(name))]
    there = {(int(match[1]), int(match[2])) for match in found}
    counts = {count for _, count in there}
    if len(counts) != 1 or there != {(number, count) for count in counts for number in range(count)}:
        what = "some of its files of variables are missing"
        raise GraphError(what, where=VARIABLES_INDEX, allowed=ALLOWED, field="file")
