"""Checks an uploaded policy in a child process with limits, since the file may hold anything."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.child.parent import Limits, ReportProgress, Results, require_size, run_in_child
from engine.errors import SettingsError
from engine.events import Json
from engine.policies.trained_policy import MOST_POLICY_BYTES, TrainedPolicy

CHECKING_LIMITS = Limits(file_bytes=MOST_POLICY_BYTES, memory_bytes=2 * 1024**3, seconds=60.0)


def check_policy(path: Path, where: str, limits: Limits = CHECKING_LIMITS) -> dict[str, Json]:
    """The card of the policy in `path`, as `PolicyCard.to_json`; `where` is the file's name in errors.

    Raises SettingsError for a file that is no policy, LimitError for one that exceeds the limits.
    """
    if path.is_file() and path.stat().st_size == 0:
        allowed = "a policy written by Placeto"
        raise SettingsError("the file is empty", where=where, allowed=allowed, field="file")
    require_size(path, limits)
    arguments: dict[str, Json] = {"path": str(path.absolute()), "where": where}
    function = "engine.policies.upload:check_in_child"
    card = run_in_child(function, arguments, limits, task="reading the policy", reads=(path,))[1]["card"]
    assert isinstance(card, dict)
    return card


def check_in_child(arguments: Mapping[str, Any], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Read the policy in the child process and return its card."""
    policy = TrainedPolicy.from_bytes(Path(arguments["path"]).read_bytes(), arguments["where"])
    return {}, {"card": policy.card.to_json()}
