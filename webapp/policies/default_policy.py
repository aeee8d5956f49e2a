"""The policy that was built with the release, offered to everybody without anybody's doing."""

import hashlib
import threading
import uuid
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from engine import api
from webapp.policies import lifecycle
from webapp.policies.models import Policy

NAME = "Default policy"
_NAMESPACE = uuid.UUID("5f0a4f0e-6f0b-4a4e-9d35-0f3d1c6d5a10")


@dataclass(frozen=True, slots=True)
class _Seen:
    """A file that has been looked at."""

    path: Path
    changed_ns: int
    digest: str
    fault: str
    """why it is of no use; empty where it is"""
    lasts: bool = True
    """whether the fault is the file's own: until that changes, it need not be looked at again"""

    def holds_for(self, path: Path, changed_ns: int) -> bool:
        """Whether what was seen still holds of this file."""
        same = (self.path, self.changed_ns) == (path, changed_ns)
        return same and (self.lasts if self.fault else _is_kept(self))


_seen: _Seen | None = None
_guard = threading.Lock()


def bring_up_to_date() -> str:
    """See to it that the file that the settings name is a row, read anew only when it has changed.

    Rows of other files are the release's no longer: whatever a run still uses of them stays until that has ended, and
    where no file can be used, they stay for whoever wants them. Returns why the file cannot be used; an empty string
    where it can, or where there is none.
    """
    global _seen
    path = Path(settings.DEFAULT_POLICY)
    with _guard:
        try:
            changed_ns = path.stat().st_mtime_ns
        except OSError:
            _retire("")
            return ""
        seen = _seen
        if seen is None or not seen.holds_for(path, changed_ns):
            seen = _seen = _look_at(path, changed_ns)
        _retire(seen.digest)
        return seen.fault


def _look_at(path: Path, changed_ns: int) -> _Seen:
    try:
        card = api.check_policy(path, path.name)
        blob = path.read_bytes()
    except (api.PlacetoError, OSError) as error:
        lasts = isinstance(error, api.SettingsError)
        return _Seen(path, changed_ns, "", f"The default policy cannot be used: {error}", lasts)
    digest = hashlib.sha256(blob).hexdigest()
    kept = lifecycle.keep_file(NAME, Policy.DEFAULT, blob, card, uuid.uuid5(_NAMESPACE, digest))
    Policy.objects.filter(id=kept.id).update(source=Policy.DEFAULT)  # it may have been that of a release before
    return _Seen(path, changed_ns, digest, "")


def _retire(digest: str) -> None:
    """The rows of other files than that of `digest`: away with what nobody uses, where that is there instead."""
    others = Policy.objects.filter(source__in=(Policy.DEFAULT, Policy.FORMER)).exclude(digest=digest)
    for former in others.defer(*Policy.LARGE):
        if former.source == Policy.DEFAULT:
            Policy.objects.filter(id=former.id).update(source=Policy.FORMER)
        if digest:
            lifecycle.delete(former)  # one that a run still uses goes at a later look


def _is_kept(seen: _Seen) -> bool:
    return Policy.objects.filter(source=Policy.DEFAULT, digest=seen.digest).exists()
