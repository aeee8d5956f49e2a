"""Writes files and folders whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder to fill, which becomes `path`, an empty folder or none so far, once the block has ended well."""
    whole = path.absolute()
    partial = Path(tempfile.mkdtemp(dir=whole.parent, prefix=".partial-"))
    try:
        yield partial
        partial.chmod(0o755)
        partial.replace(whole)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
