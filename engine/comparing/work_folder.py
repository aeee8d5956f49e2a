"""The folder of a comparison: the graph, and one file for each method and seed that has ended."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from engine import VERSION
from engine.comparing.outcome import Outcome, outcome_from_json
from engine.errors import SettingsError, shortened
from engine.events import Json
from engine.files.whole_files import write_whole

KEY_LENGTH = 24


@dataclass(frozen=True, slots=True)
class WorkFolder:
    """Keeps outcomes by what they depend on, so that a second call goes on where the first has ended."""

    folder: Path

    def keep_graph(self, blob: bytes) -> Path:
        """The file of a prepared graph, for the children."""
        path = self.folder / f"graph-{hashlib.sha256(blob).hexdigest()[:KEY_LENGTH]}.npz"
        if not path.exists():
            write_whole(path, blob)
        return path

    def keep_policy(self, blob: bytes) -> Path:
        """The file of a policy, for the children."""
        path = self.folder / f"policy-{hashlib.sha256(blob).hexdigest()[:KEY_LENGTH]}.safetensors"
        if not path.exists():
            write_whole(path, blob)
        return path

    def path_of(self, arguments: dict[str, Json]) -> Path:
        """Where the outcome of a child with these arguments is kept."""
        files: dict[str, Json] = {
            name: Path(str(arguments[name])).name for name in ("graph", "policy") if name in arguments
        }
        known = {**arguments, **files, "version": VERSION}
        digest = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:KEY_LENGTH]
        return self.folder / f"{arguments['method']}-{arguments['seed']}-{digest}.json"

    def read(self, arguments: dict[str, Json]) -> Outcome | None:
        """The outcome that an earlier call has kept; None where there is none."""
        path = self.path_of(arguments)
        if not path.exists():
            return None
        try:
            return outcome_from_json(json.loads(path.read_bytes()))
        except (KeyError, TypeError, ValueError):
            raise SettingsError(
                "this is not an outcome of a comparison",
                where=shortened(str(path)),
                allowed="another folder",
                field="out",
            ) from None

    def keep(self, arguments: dict[str, Json], outcome: Outcome) -> None:
        """Keep it, whole or not at all."""
        write_whole(self.path_of(arguments), json.dumps(outcome.to_json()).encode())


def made_work_folder(folder: Path) -> WorkFolder:
    """The folder, made where it is not there. Raises SettingsError where it cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"it cannot be made: {error.strerror}"
        raise SettingsError(what, where=shortened(str(folder)), allowed="a folder", field="out") from None
    return WorkFolder(folder)
