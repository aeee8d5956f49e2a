"""Checks the destinations of results, so that a bad one is refused before hours of work, not after."""

import os
from pathlib import Path

from engine.errors import SettingsError, shortened


def require_writable(option: str, path: Path | None) -> None:
    """Raise SettingsError unless a file can be written at `path`; None stands for no file and is allowed."""
    if path is None:
        return
    folder = path.absolute().parent
    if path.is_dir() or not folder.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise SettingsError(f"{path} cannot be written", where=option, allowed="a file in a folder that is there")


def require_folder(path: Path) -> None:
    """Raise SettingsError unless `path` is a folder that can hold new files, or can become one; makes nothing."""
    nearest = next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())
    if not nearest.is_dir():
        raise SettingsError(
            "it cannot be made: Not a directory", where=shortened(str(path)), allowed="a folder", field="out"
        )
    if not os.access(nearest, os.W_OK):
        raise SettingsError(
            "it cannot be written: Permission denied", where=shortened(str(path)), allowed="a folder", field="out"
        )
