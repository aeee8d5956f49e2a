"""Checks the destinations of results, so that a bad one is refused before hours of work, not after."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from engine.errors import SettingsError, shortened
from engine.number_words import bytes_words


def require_writable(option: str, path: Path | None, *, replaced: bool = False) -> None:
    """Raise SettingsError unless a file can be written at `path`; None stands for no file and is allowed.

    `replaced`: a new file takes the place of an old one, so the folder itself has to be writable.
    """
    if path is None:
        return
    folder = path.absolute().parent
    written = path if path.exists() and not replaced else folder
    if path.is_dir() or not folder.is_dir() or not os.access(written, os.W_OK):
        raise SettingsError(f"{path} cannot be written", where=option, allowed="a file in a folder that is there")


def require_room(option: str, path: Path, least_bytes: int) -> None:
    """Raise SettingsError where the disk of `path`, which can be written, has not even `least_bytes` free."""
    free_bytes = shutil.disk_usage(path.absolute().parent).free
    if free_bytes < least_bytes:
        what = f"the disk of {path} has {bytes_words(free_bytes)} free"
        raise SettingsError(what, where=option, allowed=f"at least {bytes_words(least_bytes)}")


def require_apart(written: Mapping[str, Path | None], read: Mapping[str, Path | None]) -> None:
    """Raise SettingsError where two files would be one: two that are `written`, or one of them and one that is `read`.

    Both are option → file.
    """
    taken = {path.resolve(): option for option, path in read.items() if path is not None}
    for option, path in written.items():
        if path is not None and (other := taken.setdefault(path.resolve(), option)) != option:
            raise SettingsError(f"{path} is the file of {other}", where=option, allowed="a file of its own")


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


def require_new_folder(option: str, path: Path) -> None:
    """Raise SettingsError unless `path` is an empty folder or can become one, whole at once; makes nothing."""
    whole, allowed = path.absolute(), "a new or an empty folder, in one that is there"
    if whole.exists() and (not whole.is_dir() or any(whole.iterdir())):
        raise SettingsError(f"{path} is there and not empty", where=option, allowed=allowed)
    if not whole.parent.is_dir() or not os.access(whole.parent, os.W_OK):
        raise SettingsError(f"{path} cannot be written", where=option, allowed=allowed)
