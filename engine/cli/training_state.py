"""The file beside a policy to be in which the command `train` keeps what it goes on from after an interruption."""

import zipfile
import zlib
from pathlib import Path

import numpy as np

from engine import api
from engine.errors import SettingsError, shortened
from engine.files.archive import pack, unpack
from engine.files.whole_files import write_whole

_DAMAGES = (AssertionError, EOFError, KeyError, NotImplementedError, ValueError, zipfile.BadZipFile, zlib.error)
"""what reading a damaged archive raises"""


class TrainingState:
    """The states of one training. A file that belongs to another is refused, not overwritten."""

    def __init__(self, path: Path, request: api.TrainRequest) -> None:
        self.path = path
        self._identity = api.training_identity(request)

    def read(self) -> bytes | None:
        """The latest state; None where none was kept. Raises SettingsError for what is of another training."""
        if not self.path.exists():
            return None
        try:
            arrays, texts = unpack(self.path.read_bytes())
            identity, state = texts["identity"], arrays["state"].tobytes()
        except _DAMAGES:
            raise self._refused("it is no state of a training") from None
        if identity != self._identity:
            raise self._refused("it is the state of another training, or of another version")
        return state

    def write(self, state: bytes) -> None:
        """Keep `state`, whole or not at all."""
        write_whole(self.path, pack({"state": np.frombuffer(state, np.uint8)}, {"identity": self._identity}))

    def remove(self) -> None:
        """The training has ended."""
        self.path.unlink(missing_ok=True)

    def _refused(self, what: str) -> SettingsError:
        allowed = "the command that wrote it, another --out, or no such file"
        return SettingsError(what, where=shortened(self.path.name), allowed=allowed, field="out")
