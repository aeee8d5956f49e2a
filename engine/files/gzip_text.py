"""Unpacks a gzip file from a user, up to a limit."""

import gzip
import io
import zlib

from engine.errors import GraphError, LimitError
from engine.number_words import bytes_words

MAGIC = b"\x1f\x8b"


def unpacked(content: bytes, most_bytes: int, *, allowed: str, field: str) -> bytes:
    """What is packed in `content`; `allowed`: in words. Raises GraphError, LimitError."""
    try:
        with gzip.open(io.BytesIO(content)) as file:
            text = file.read(most_bytes + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise GraphError(
            "the compressed file is cut or damaged", where="the file", allowed=allowed, field=field
        ) from None
    if len(text) > most_bytes:
        raise LimitError(
            "the file is too large once unpacked", allowed=f"at most {bytes_words(most_bytes)}", field=field
        )
    return text
