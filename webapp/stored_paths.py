"""Paths of stored files: each is proven to lie in its folder of the data folder."""

from pathlib import Path

from django.conf import settings

from engine import api


def stored_path(folder: str, name: str) -> Path:
    """The path of the file `name` in `folder` of the data folder. Raises GraphError for a name that leads elsewhere."""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise api.GraphError("the name of its stored file is unsafe", where=api.shortened(name), allowed="a plain name")
    return Path(settings.DATA_FOLDER) / folder / name
