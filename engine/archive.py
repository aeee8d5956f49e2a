"""Arrays and texts as bytes and back, for the database and child processes: a zip of .npy and JSON, never pickle."""

import io
import json
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from engine.events import Json

_TEXTS = "texts"


def pack(arrays: Mapping[str, NDArray[np.generic]], texts: Mapping[str, Json]) -> bytes:
    """One blob of `arrays` and JSON `texts`; neither may be named `texts` or hold Python objects."""
    assert _TEXTS not in arrays
    encoded = np.frombuffer(
        json.dumps(texts, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass"), np.uint8
    )
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **{_TEXTS: encoded}, **dict(arrays))
    return buffer.getvalue()


def unpack(blob: bytes) -> tuple[dict[str, NDArray[np.generic]], dict[str, Json]]:
    """The inverse of `pack`."""
    with np.load(io.BytesIO(blob), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    texts = json.loads(arrays.pop(_TEXTS).tobytes().decode("utf-8", "surrogatepass"))
    assert isinstance(texts, dict)
    return arrays, texts
