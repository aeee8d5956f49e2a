"""Where results go: what could not be written is refused before hours of work, not after."""

import os
from pathlib import Path

from engine.errors import SettingsError, shortened


def require_writable(option: str, path: Path | None) -> None:
    """Raise SettingsError unless a file can be written at `path`; None is no file at all."""
    if path is None:
        return
    folder = path.absolute().parent
    if path.is_dir() or not folder.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise SettingsError(f"{path} cannot be written", where=option, allowed="a file in a folder that is there")


def require_folder(path: Path) -> None:
    """Raise SettingsError unless `path` is a folder in which files can be made, or could be made one; makes nothing."""
    nearest = next(there for there in (path.absolute(), *path.absolute().parents) if there.exists())
    if not nearest.is_dir():
        raise SettingsError(
            "it cannot be made: Not a directory", where=shortened(str(path)), allowed="a folder", field="out"
        )
    if not os.access(nearest, os.W_OK):
        raise SettingsError(
            "it cannot be written: Permission denied", where=shortened(str(path)), allowed="a folder", field="out"
        )
