"""Writes a new zipped SavedModel with one placed signature. Runs in a child.

Its graph is the placed GraphDef, node by node, and the ops that fill the variables and tables; the files of variables
and assets are copied unchanged. It has TensorFlow's first form, a MetaGraphDef with a saver and without objects: for
the second form TensorFlow ignores the variables' devices in the graph.
`tf.saved_model.load`, `tf.compat.v1.saved_model.load` and TensorFlow Serving read both.
"""

import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import cast

from engine.child.parent import ReportProgress
from engine.errors import GraphError, shortened
from engine.formats.format import SourceFile
from engine.formats.meta_graph import MetaGraph, chosen_signature, messages_of, ops_of
from engine.formats.saved_model.archive import SAVED_MODEL_FILE, SavedModelArchive, new_entry, opened_archive
from engine.formats.saved_model.captured_variables import keys_of_captured
from engine.formats.saved_model.filling import HOST, filling_of, free_scope
from engine.formats.saved_model.loop_handles import SCOPE as HANDLES
from engine.formats.saved_model.loop_handles import give_own_handles
from engine.formats.saved_model.restored_tensors import require_stored
from engine.graphs.tensorflow.graphdef_messages import GraphMessages, read_messages
from engine.graphs.tensorflow.input_texts import producer_of
from engine.graphs.tensorflow.messages import Message, load_messages

WRITING = "writing the placed SavedModel"
CHECKING = "checking that a SavedModel can be written"
ASSETS_FOLDERS, VARIABLES_FOLDER = ("assets/", "assets.extra/"), "variables/"
"""folders whose files are copied; the others, such as fingerprint.pb, describe the original graph"""
INIT_SIGNATURE = "__saved_model_init_op"
MAIN_OP = "saved_model_main_op"
INIT_COLLECTIONS = (MAIN_OP, "legacy_init_op")
"""collections that may name the op that initialises tables; the first that exists counts"""
ASSET_COLLECTION = "saved_model_assets"
SCHEMA_VERSION = 1
PACKING_LEVEL = 1
"""lowest of 9 levels: weights hardly pack at any level"""


def write_placed_saved_model(
    source: SourceFile, meta_graph: MetaGraph, placed: bytes, target: Path, report_progress: ReportProgress
) -> None:
    """Write the SavedModel in `source` to `target` with `placed`, the placed GraphDef of a signature of `meta_graph`.

    Raises GraphError for an upload without its variables, PlacementError for a variable on a device that cannot restore
    it, and LimitError.
    """
    report_progress(WRITING, 0, 0)
    making = _Making(meta_graph, source.options.signature, read_messages(placed, ".pb"))
    with opened_archive(source.path) as archive:
        names = making.checked_files(archive, target.parent)
        with zipfile.ZipFile(target, "w", compresslevel=PACKING_LEVEL) as saved_model:
            saved_model.writestr(new_entry(archive.folder + SAVED_MODEL_FILE), making.saved_model())
            for index, name in enumerate(names):
                report_progress(WRITING, index, len(names))
                archive.copy(name, saved_model)


def require_writable(
    source: SourceFile, meta_graph: MetaGraph, graph: GraphMessages, folder: Path, report_progress: ReportProgress
) -> None:
    """Raise what `write_placed_saved_model` would, whatever the placement of `graph`, which was read of `meta_graph`.

    Reads all files that would be copied. Leaves files in `folder`.
    """
    report_progress(CHECKING, 0, 0)
    making = _Making(meta_graph, source.options.signature, graph)
    with opened_archive(source.path) as archive:
        names = making.checked_files(archive, folder)
        making.saved_model()
        for index, name in enumerate(names):
            report_progress(CHECKING, index, len(names))
            archive.read_through(name)


class _Making:
    """Makes a SavedModel with one MetaGraphDef, from the upload and the placed graph."""

    def __init__(self, meta_graph: MetaGraph, signature: str, placed: GraphMessages) -> None:
        self._given = meta_graph.rest
        self._name = chosen_signature(meta_graph, signature)
        self._signature = self._given.signature_def[self._name]
        self._placed = placed
        self._feeds = frozenset(ops_of(self._signature.inputs.values()))
        original = messages_of(meta_graph)
        self._definitions = original.definitions
        taken = {node.name for node in placed.nodes}
        self._untaken = [node for node in original.nodes if node.name in self._feeds and node.name not in taken]
        saver = self._given.saver_def
        fill_ops = [producer_of(name) for name in (saver.restore_op_name, _init_op(self._given)) if name]
        keys = keys_of_captured(original.nodes, self._given.object_graph_def)
        self.filling = filling_of(original, list(dict.fromkeys(fill_ops)), saver.filename_tensor_name, keys, placed)
        """the ops that fill the variables and tables"""

    def checked_files(self, archive: SavedModelArchive, folder: Path) -> list[str]:
        """The files of variables and assets to copy. Leaves files in `folder`. Raises GraphError, LimitError."""
        require_stored(self.filling.nodes, archive, folder)
        self._require_fed()
        copied = ASSETS_FOLDERS + (VARIABLES_FOLDER,) * bool(self.filling.restores)
        return [name for name in archive.names if name.startswith(copied)]

    def saved_model(self) -> bytes:
        """The content of saved_model.pb."""
        saved_model = load_messages("tensorflow.core.protobuf.saved_model_pb2").SavedModel()
        saved_model.saved_model_schema_version = SCHEMA_VERSION
        made = saved_model.meta_graphs.add()
        given = self._given.meta_info_def
        made.meta_info_def.tags.extend(given.tags)
        made.meta_info_def.tensorflow_version = given.tensorflow_version
        made.meta_info_def.tensorflow_git_version = given.tensorflow_git_version
        made.meta_info_def.stripped_default_attrs = given.stripped_default_attrs
        made.meta_info_def.stripped_op_list.op.extend(self._definitions.values())
        made.signature_def[self._name].CopyFrom(self._signature)
        made.asset_file_def.extend(self._assets())
        self._fill_graph(made.graph_def)
        if self.filling.restores:
            self._fill_saver(made)
        made.collection_def[MAIN_OP].node_list.value.append(
            _add_barrier(made.graph_def, f"{self.filling.scope}/initialise", self.filling.initialises)
        )
        return cast(bytes, saved_model.SerializeToString(deterministic=True))

    def _fill_graph(self, graph: Message) -> None:
        """Put into `graph` the placed graph, the signature's other inputs, and the ops that fill the resources."""
        graph.CopyFrom(self._placed.rest)
        copies = give_own_handles(self._placed.nodes, free_scope(HANDLES, [node.name for node in self._placed.nodes]))
        graph.node.extend(self._placed.nodes)
        graph.node.extend(copies)
        for node in self._untaken:
            node.device = HOST
            graph.node.append(node)
        graph.node.extend(self.filling.nodes)
        there = {function.signature.name for function in graph.library.function}
        more = self.filling.rest.library
        graph.library.function.extend(each for each in more.function if each.signature.name not in there)
        there = {gradient.function_name for gradient in graph.library.gradient}
        graph.library.gradient.extend(each for each in more.gradient if each.function_name not in there)

    def _fill_saver(self, made: Message) -> None:
        """Set the saver: it restores and never saves, though TensorFlow needs a name for saving."""
        given, saver = self._given.saver_def, made.saver_def
        saver.version = given.version
        op, colon, output = given.filename_tensor_name.partition(":")
        saver.filename_tensor_name = saver.save_tensor_name = self.filling.name_of[op] + colon + output
        name = f"{self.filling.scope}/restore"
        saver.restore_op_name = _add_barrier(made.graph_def, name, self.filling.restores)

    def _assets(self) -> Iterator[Message]:
        """The assets that the filling ops still need."""
        for asset in _assets(self._given):
            op, colon, output = asset.tensor_info.name.partition(":")
            if op in self.filling.name_of:
                renamed = type(asset)()
                renamed.CopyFrom(asset)
                renamed.tensor_info.name = self.filling.name_of[op] + colon + output
                yield renamed

    def _require_fed(self) -> None:
        """Raise GraphError for a placeholder that nothing feeds: TensorFlow would refuse the SavedModel."""
        fed = {*self._feeds, *(producer_of(asset.tensor_info.name) for asset in self._assets())}
        if self.filling.restores:
            fed.add(self.filling.name_of[producer_of(self._given.saver_def.filename_tensor_name)])
        for node in (*self._placed.nodes, *self._untaken, *self.filling.nodes):
            if node.op == "Placeholder" and node.name not in fed:
                what = f"signature {shortened(self._name)} needs it, but does not feed it"
                raise GraphError(what, where=shortened(node.name), allowed="placeholders that it feeds", field="file")


def _add_barrier(graph: Message, name: str, waits_for: Sequence[str]) -> str:
    """Add an op that ends after the ops `waits_for`, and return its name."""
    graph.node.add(name=name, op="NoOp", input=[f"^{each}" for each in waits_for], device=HOST)
    return name


def _init_op(given: Message) -> str:
    """The name of the op that initialises tables; empty where there is none."""
    if INIT_SIGNATURE in given.signature_def:
        return str(given.signature_def[INIT_SIGNATURE].outputs[INIT_SIGNATURE].name)
    for name in INIT_COLLECTIONS:
        if name in given.collection_def and given.collection_def[name].node_list.value:
            return str(given.collection_def[name].node_list.value[0])
    return ""


def _assets(given: Message) -> Iterable[Message]:
    """AssetFileDef of each asset; TensorFlow's first versions have them in a collection."""
    if given.asset_file_def or ASSET_COLLECTION not in given.collection_def:
        yield from given.asset_file_def
        return
    for packed in given.collection_def[ASSET_COLLECTION].any_list.value:
        asset = load_messages("tensorflow.core.protobuf.meta_graph_pb2").AssetFileDef()
        if packed.Unpack(asset):
            yield asset
