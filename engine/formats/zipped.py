"""Reads and writes a zip archive (`.zip`): a SavedModel, or an ONNX model with its other files. Runs in a child.

An ONNX model's weights may lie beside it in the archive; they are not read.
"""

from pathlib import Path

from engine.child.parent import ReportProgress
from engine.errors import GraphError
from engine.formats.format import Placing, ReadFile, SourceFile
from engine.formats.open_inputs import OpenInput
from engine.formats.saved_model import saved_model
from engine.formats.saved_model.archive import ONNX_SUFFIX, onnx_model_in


def check(source: SourceFile, report_progress: ReportProgress) -> tuple[OpenInput, ...]:
    """Read the whole graph; its open inputs. Raises GraphError, LimitError, SettingsError."""
    content = onnx_model_in(source.path, source.most_bytes)
    if content is None:
        return saved_model.check(source, report_progress)
    from engine.formats.onnx import reader

    return reader.check_content(content, source, report_progress)


def read(source: SourceFile, report_progress: ReportProgress) -> ReadFile:
    """The graph and its estimated costs. Raises GraphError, LimitError, SettingsError."""
    content = onnx_model_in(source.path, source.most_bytes)
    if content is None:
        return saved_model.read(source, report_progress)
    from engine.formats.onnx import reader

    return reader.read_content(content, source, report_progress)


def write(source: SourceFile, placing: Placing, folder: Path, report_progress: ReportProgress) -> None:
    """Write the placed graph. Raises GraphError, PlacementError, LimitError, SettingsError."""
    content = onnx_model_in(source.path, source.most_bytes)
    if content is None and placing.suffix == ONNX_SUFFIX:
        what = "only of an ONNX model a placed ONNX model can be written"
        raise GraphError(what, allowed=".zip, .pb, .pbtxt", field="file")
    if content is None:
        saved_model.write(source, placing, folder, report_progress)
        return
    from engine.formats.onnx import writer

    writer.write_content(content, source, placing, folder, report_progress)


def require_writable(source: SourceFile, folder: Path, report_progress: ReportProgress) -> None:
    """Raise GraphError or LimitError where no placed file of this suffix can be written, whatever the placement."""
    if onnx_model_in(source.path, source.most_bytes) is None:
        saved_model.require_writable(source, folder, report_progress)
