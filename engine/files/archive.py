"""Packs arrays and texts into bytes, for the database and child processes: a zip of .npy and JSON, never pickle."""

import dataclasses
import io
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.events import Json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_TEXTS = "texts"
ArchivePart = TypeVar("ArchivePart", bound="DataclassInstance")


def pack(arrays: Mapping[str, NDArray[np.generic]], texts: Mapping[str, Json]) -> bytes:
    """One blob of `arrays` and JSON `texts`; no array may be named `texts` or hold Python objects."""
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


def fields_of(part: "DataclassInstance") -> tuple[dict[str, NDArray[np.generic]], dict[str, Json]]:
    """The arrays and the texts in a dataclass's fields, with keys `Class.field`, for `pack`."""
    values = {f"{type(part).__name__}.{field.name}": getattr(part, field.name) for field in dataclasses.fields(part)}
    arrays = {key: value for key, value in values.items() if isinstance(value, np.ndarray)}
    return arrays, {key: value for key, value in values.items() if key not in arrays}


def from_fields(
    part: type[ArchivePart], arrays: Mapping[str, NDArray[np.generic]], texts: Mapping[str, Json]
) -> ArchivePart:
    """The inverse of `fields_of`; lists come back as tuples.

    A field that an earlier version did not write keeps its default.
    """
    keys = {field.name: f"{part.__name__}.{field.name}" for field in dataclasses.fields(part)}
    values: dict[str, Any] = {
        name: arrays[key] if key in arrays else _as_tuple(texts[key])
        for name, key in keys.items()
        if key in arrays or key in texts
    }
    return part(**values)


def _as_tuple(value: Json) -> object:
    return tuple(_as_tuple(item) for item in value) if isinstance(value, list) else value
