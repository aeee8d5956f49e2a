"""Placements on the command line: reads the file of `--placement` and checks the names of files to write."""

import sys
from collections.abc import Sequence
from pathlib import Path

from engine import api
from engine.errors import GraphError, PlacementError, SettingsError
from engine.files.destinations import require_room, require_writable
from engine.files.json_text import read_json

PLACED_FORMATS = (".pb", ".pbtxt", ".zip", ".onnx")
PLACEMENT_FORMAT = ".json"
SAVED_MODEL_FORMAT = ".zip"
ONNX_FORMAT = ".onnx"
"""limits for reading and for writing"""
PLACED_HELP = (
    "write the placed graph here (.pb, .pbtxt; of a SavedModel also .zip: a SavedModel, with its variables; "
    "of an ONNX model .onnx, or .zip with its stages)"
)
MODULES_HELP = "of a recording of a PyTorch model .device_map.json, .split_spec.json; of an ONNX model .layers.json"
MOST_PLACED = 20_000_000
"""most ops in a file of placements, all placements together"""


def read_placements(path: Path) -> api.Json:
    """The JSON in `path`. Raises PlacementError, OSError."""
    return read_json(path.read_bytes(), most_values=MOST_PLACED, error=PlacementError, field="placement")


def require_placed_name(out: Path, graph: Path, allowed: tuple[str, ...], fetches: Sequence[str] = ()) -> None:
    """Raise SettingsError unless the placed `graph`, read for `fetches`, can be written to `out`.

    Its name must end in one of `allowed`.
    """
    require_writable("--out", out, replaced=out.suffix != PLACEMENT_FORMAT)
    if out.suffix not in allowed:
        endings = f"{', '.join(allowed[:-1])} or {allowed[-1]}"
        raise SettingsError(f"{out.name!r}", where="--out", allowed=f"a name that ends in {endings}")
    row = api.FORMATS.get(api.suffix_of(graph.name))
    if out.suffix != PLACEMENT_FORMAT and row is not None and not row.write:
        raise SettingsError(f"{row.words} holds no GraphDef", where="--out", allowed="a name that ends in .json")
    if out.suffix != PLACEMENT_FORMAT and row is not None and not row.is_tensorflow:
        _require_one_of(out, row)
    else:
        _require_tensorflow_name(out, graph, fetches)
    if out.suffix != PLACEMENT_FORMAT and graph.is_file():
        require_room("--out", out, graph.stat().st_size)


def _require_one_of(out: Path, row: api.Format) -> None:
    """Raise SettingsError unless the format writes such a file."""
    if out.suffix not in row.placed:
        endings = f"{', '.join(row.placed)} or {PLACEMENT_FORMAT}"
        what = f"of an {row.words} no {out.suffix} can be written"
        raise SettingsError(what, where="--out", allowed=f"a name that ends in {endings}")


def _require_tensorflow_name(out: Path, graph: Path, fetches: Sequence[str]) -> None:
    """Raise SettingsError for a SavedModel of another file, or of fetches, and for another format's file."""
    if out.suffix == SAVED_MODEL_FORMAT and fetches:
        raise SettingsError(api.NO_SIGNATURE, where="--out", allowed="a name that ends in .pb or .pbtxt")
    if out.suffix == SAVED_MODEL_FORMAT != api.suffix_of(graph.name):
        what = "only of a SavedModel (.zip) a placed SavedModel can be written"
        raise SettingsError(what, where="--out", allowed="a name that ends in .pb or .pbtxt")
    if out.suffix == ONNX_FORMAT and api.suffix_of(graph.name) != SAVED_MODEL_FORMAT:
        what = "only of an ONNX model (.onnx) a placed ONNX model can be written"
        raise SettingsError(what, where="--out", allowed="a name that ends in .pb or .pbtxt")


def require_variables(out: Path | None, prepared: api.PreparedGraph) -> None:
    """Raise GraphError if `out` asks for a placed SavedModel but the upload has no variables."""
    if out is not None and out.suffix == SAVED_MODEL_FORMAT and prepared.origin.variables_stored is False:
        raise GraphError(api.NO_VARIABLES, where="--out", allowed="a name that ends in .pb or .pbtxt")


def print_loading(out: Path, graph: Path, devices: Sequence[str], *, offload: bool = False) -> None:
    """Print the lines of Python that load the placed file `out` of `graph`, of the format for which there are some."""
    if out.suffix == SAVED_MODEL_FORMAT and api.suffix_of(graph.name) == ONNX_FORMAT:
        print("\nunpacked, it has the stages: run_stages.py runs them, check_placement.py checks", file=sys.stderr)
    elif out.name.endswith(api.LOADED_FORMATS):
        lines = api.loading_lines(out.name, devices, offload=offload)
        print(f"\nto load it in its folder:\n\n{lines}", file=sys.stderr)
