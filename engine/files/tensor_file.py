"""Named arrays and JSON in the safetensors format: how weights and states are stored, and how browsers get arrays."""

import json
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from engine.errors import SettingsError
from engine.events import Json
from engine.files.json_text import read_json

_TEXTS = "placeto"
"""the key of our JSON in the file's metadata"""
_LENGTH_BYTES = 8
MOST_HEADER_BYTES = 16 * 1024**2
"""most bytes of names, shapes and our JSON"""
MOST_VALUES = 1_000_000
"""most values in our JSON"""


def pack_tensors(arrays: Mapping[str, NDArray[np.generic]], texts: Mapping[str, Json]) -> bytes:
    """Pack `arrays` and JSON `texts` into one blob."""
    contiguous = {name: np.array(array, order="C") for name, array in arrays.items()}
    packed: bytes = save(contiguous, metadata={_TEXTS: json.dumps(texts, allow_nan=False, sort_keys=True)})
    return packed


def unpack_tensors(blob: bytes, where: str) -> tuple[dict[str, NDArray[np.generic]], dict[str, Json]]:
    """The inverse of `pack_tensors`. Raises SettingsError, naming `where`, for bytes that it did not write."""
    length = int.from_bytes(blob[:_LENGTH_BYTES], "little")
    if length > MOST_HEADER_BYTES:
        raise _no_file(where)
    try:
        arrays = load(blob)
        header = json.loads(blob[_LENGTH_BYTES : _LENGTH_BYTES + length])
        text = header["__metadata__"][_TEXTS].encode()
        texts = read_json(text, most_values=MOST_VALUES, error=SettingsError, field="policy")
    except (SafetensorError, SettingsError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise _no_file(where) from error
    if not isinstance(texts, dict):
        raise _no_file(where)
    return arrays, texts


def under(prefix: str, arrays: Mapping[str, NDArray[np.generic]]) -> dict[str, NDArray[np.generic]]:
    """The `arrays` whose names begin with `prefix`, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _no_file(where: str) -> SettingsError:
    return SettingsError(
        "this is not a file of Placeto", where=where, allowed="a file written by Placeto", field="policy"
    )
