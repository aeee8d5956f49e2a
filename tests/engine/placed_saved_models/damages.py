"""A SavedModel damaged in many ways, and what the writer says to each. Used in a child alone."""

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from engine.child.parent import Limits, ReportProgress, Results, no_progress
from engine.errors import PlacetoError
from engine.events import Json

MODEL, INDEX = "saved_model.pb", "variables/variables.index"
DATA = "variables/variables.data-00000-of-00001"
ZEROS = 64 * 1024**2
RANDOM_DAMAGES = 150
Files = dict[str, bytes]


def refusals_in_child(_order: dict[str, Json], folder: Path, _report_progress: ReportProgress) -> Results:
    """The sentence for each damage; `""` where the SavedModel was written. Beside them errors of other types."""
    from engine.formats import graphdef
    from engine.formats.format import Placing, SourceFile
    from engine.formats.reading import read_file
    from engine.formats.saved_model.making import write_placed_saved_model
    from engine.formats.saved_model.saved_model import meta_graph_of
    from engine.graphs.reading_options import ReadingOptions
    from experiments.placed.samples import zipped
    from tests.engine.placed_saved_models.samples import tables

    (folder / "saved").mkdir()
    tables(folder / "saved" / "model")
    source = zipped(folder, "tables", folder / "saved" / "model")
    file = read_file(SourceFile(source, ".zip", Limits().file_bytes, ReadingOptions("embed")), no_progress)
    on_cpu = dict.fromkeys(file.graph.graph.op_names, "/device:CPU:0")
    placed = graphdef.placed(file, ".zip", Placing(on_cpu, ".pb", short=False, keep_pins=True))
    with zipfile.ZipFile(source) as archive:
        whole = {name: archive.read(name) for name in archive.namelist()}
    counted = iter(range(10_000))

    def said(archive: Path) -> str:
        made = folder / f"made-{next(counted)}"
        made.mkdir()
        try:
            source = SourceFile(archive, ".zip", Limits().file_bytes, ReadingOptions("embed"))
            meta_graph, _, _ = meta_graph_of(source)
            write_placed_saved_model(source, meta_graph, placed, made / "placed.zip", no_progress)
        except PlacetoError as error:
            return str(error)
        return ""

    texts: dict[str, Json] = {"nothing": said(source)}
    for name, damage in DAMAGES.items():
        files = dict(whole)
        method = damage(files) or zipfile.ZIP_DEFLATED
        with zipfile.ZipFile(folder / "damaged.zip", "w") as target:
            for path, content in files.items():
                target.writestr(path, content, method if path == DATA else zipfile.ZIP_DEFLATED)
        texts[name] = said(folder / "damaged.zip")
    changed = bytearray(source.read_bytes())
    changed[changed.index(whole[DATA]) + 5] ^= 0xFF
    (folder / "damaged.zip").write_bytes(changed)
    texts["a byte of a variable"] = said(folder / "damaged.zip")
    return {}, {"texts": texts, "others": _others(source, folder, said)}


def _others(source: Path, folder: Path, said: Callable[[Path], str]) -> list[Json]:
    """Errors that are no typed ones, of files whose saved_model.pb is changed at random."""
    rng = np.random.default_rng(0)
    with zipfile.ZipFile(source) as archive:
        whole = {name: archive.read(name) for name in archive.namelist()}
    others: list[Json] = []
    for _ in range(RANDOM_DAMAGES):
        changed = bytearray(whole[MODEL])
        for position in rng.integers(len(changed), size=rng.integers(1, 4)):
            changed[position] = rng.integers(256)
        with zipfile.ZipFile(folder / "damaged.zip", "w") as target:
            for path, content in whole.items():
                target.writestr(path, bytes(changed) if path == MODEL else content)
        try:
            said(folder / "damaged.zip")
        except Exception as error:
            others.append(f"{type(error).__name__}: {error}")
    return others


def _saved_model(files: Files) -> Any:
    from tensorflow.core.protobuf import saved_model_pb2

    return saved_model_pb2.SavedModel.FromString(files[MODEL])


def _changed(change: Callable[[Any], None]) -> Callable[[Files], None]:
    """The damage that does `change` to the one MetaGraphDef."""

    def damage(files: Files) -> None:
        saved_model = _saved_model(files)
        change(saved_model.meta_graphs[0])
        files[MODEL] = saved_model.SerializeToString()

    return damage


def _rename_key(meta_graph: Any) -> None:
    """The restoring function asks for a tensor that is not there."""
    for function in meta_graph.graph_def.library.function:
        for node in function.node_def:
            if node.name == "RestoreV2/tensor_names":
                keys = node.attr["value"].tensor.string_val
                keys[:] = [key.replace(b"embedding", b"absent") for key in keys]


def _restore_as_integers(meta_graph: Any) -> None:
    for function in meta_graph.graph_def.library.function:
        for node in function.node_def:
            if node.op == "RestoreV2":
                types = node.attr["dtypes"].list.type
                types[:] = [3 if number == 1 else number for number in types]


def _without_saver(meta_graph: Any) -> None:
    meta_graph.ClearField("saver_def")
    meta_graph.ClearField("object_graph_def")


def _without_init(meta_graph: Any) -> None:
    del meta_graph.signature_def["__saved_model_init_op"]
    meta_graph.collection_def.clear()


def _wrong_restore_op(meta_graph: Any) -> None:
    meta_graph.saver_def.restore_op_name = "absent"


def _stored_as(method: int) -> Callable[[Files], int]:
    return lambda _: method


def _set(path: str, content: bytes) -> Callable[[Files], None]:
    return lambda files: files.update({path: content})


def _remove(*paths: str) -> Callable[[Files], None]:
    def damage(files: Files) -> None:
        for path in paths:
            del files[path]

    return damage


DAMAGES: dict[str, Callable[[Files], int | None]] = {
    "no variables": _remove(INDEX, DATA),
    "no index": _remove(INDEX),
    "no data": _remove(DATA),
    "a part of the data": lambda files: files.update({DATA[:-1] + "2": files.pop(DATA)}),
    "an empty index": _set(INDEX, b""),
    "an index of zeros": _set(INDEX, bytes(1000)),
    "a bomb among the variables": _set(DATA, bytes(ZEROS)),
    "packed by another method": _stored_as(zipfile.ZIP_BZIP2),
    "a key that is not there": _changed(_rename_key),
    "another type": _changed(_restore_as_integers),
    "no saver, no objects": _changed(_without_saver),
    "no initializer": _changed(_without_init),
    "a restoring op that is not there": _changed(_wrong_restore_op),
}
