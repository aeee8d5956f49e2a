"""The folder of a comparison, with the graph and one file for each method and seed that has ended."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from engine import VERSION
from engine.comparing.grid import CellKey, written
from engine.comparing.outcome import Outcome, outcome_from_json
from engine.errors import SettingsError, shortened
from engine.files.whole_files import write_whole
from engine.run.request import GivenPolicy, RunRequest
from engine.search.preference import FASTEST

KEY_LENGTH = 24
OF_EVERY_OUTCOME = ("baselines", "start", "pins", "robust", "robustness")
"""fields of a request that are the same for every run of a comparison; all others name its outcome's file"""


@dataclass(frozen=True, slots=True)
class WorkFolder:
    """Stores outcomes under a digest of their inputs, so that a second call continues where the first ended."""

    folder: Path

    def keep_graph(self, blob: bytes) -> Path:
        """Store a prepared graph for the children; returns its file."""
        path = self.folder / f"graph-{hashlib.sha256(blob).hexdigest()[:KEY_LENGTH]}.npz"
        if not path.exists():
            write_whole(path, blob)
        return path

    def keep_policy(self, policy: GivenPolicy) -> Path:
        """Store a policy for the children; returns its file."""
        path = self.folder / _policy_name(policy.digest)
        if not path.exists():
            write_whole(path, policy.blob)
        return path

    def key(self, graph: Path, request: RunRequest) -> CellKey:
        """What the outcome of `request` on the graph in the file `graph` depends on."""
        known = {name: value for name, value in request.to_json().items() if name not in OF_EVERY_OUTCOME}
        known |= {"cluster": json.dumps(known["cluster"]), "graph": graph.name, "version": VERSION}
        policy = known.pop("policy")
        if policy is not None:
            known["policy"] = _policy_name(str(policy))
        if known["prefer"] == FASTEST:
            del known["prefer"]
        return known

    def path_of(self, key: CellKey) -> Path:
        """The file of an outcome."""
        digest = hashlib.sha256(written(key).encode()).hexdigest()[:KEY_LENGTH]
        return self.folder / f"{key['method']}-{key['seed']}-{digest}.json"

    def __contains__(self, key: CellKey) -> bool:
        return self.path_of(key).exists()

    def __getitem__(self, key: CellKey) -> Outcome:
        """The outcome that an earlier call kept. Raises SettingsError if its file holds none."""
        path = self.path_of(key)
        try:
            return outcome_from_json(json.loads(path.read_bytes()))
        except (KeyError, TypeError, ValueError):
            raise SettingsError(
                "this is not an outcome of a comparison",
                where=shortened(str(path)),
                allowed="another folder",
                field="out",
            ) from None

    def add(self, key: CellKey, outcome: Outcome) -> None:
        """Keep the outcome, whole or not at all."""
        write_whole(self.path_of(key), json.dumps(outcome.to_json()).encode())


def _policy_name(digest: str) -> str:
    return f"policy-{digest[:KEY_LENGTH]}.safetensors"


def made_work_folder(folder: Path) -> WorkFolder:
    """The work folder, made if it is missing. Raises SettingsError if it cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"it cannot be made: {error.strerror}"
        raise SettingsError(what, where=shortened(str(folder)), allowed="a folder", field="out") from None
    return WorkFolder(folder)
