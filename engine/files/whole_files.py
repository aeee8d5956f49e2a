"""Writes files whole or not at all."""

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically: no reader ever sees half of it."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".partial-")
    partial = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as target:
            target.write(content)
        partial.chmod(0o644)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
