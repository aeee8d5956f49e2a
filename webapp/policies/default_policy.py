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


_seen: _Seen | None = None
_guard = threading.Lock()


def bring_up_to_date() -> str:
    """See to it that the file that the settings name is a row, read anew only when it has changed.

    Returns why it cannot be used; an empty string where it can, or where there is none.
    """
    global _seen
    path = Path(settings.DEFAULT_POLICY)
    try:
        changed_ns = path.stat().st_mtime_ns
    except OSError:
        return ""
    with _guard:
        seen = _seen
        if seen is None or (seen.path, seen.changed_ns) != (path, changed_ns) or not (seen.fault or _is_kept(seen)):
            seen = _seen = _look_at(path, changed_ns)
        return seen.fault


def _look_at(path: Path, changed_ns: int) -> _Seen:
    try:
        card = api.check_policy(path, path.name)
        blob = path.read_bytes()
    except (api.PlacetoError, OSError) as error:
        return _Seen(path, changed_ns, "", f"The default policy cannot be used: {error}")
    digest = hashlib.sha256(blob).hexdigest()
    kept = lifecycle.keep_file(NAME, Policy.DEFAULT, blob, card, uuid.uuid5(_NAMESPACE, digest))
    for older in Policy.objects.filter(source=Policy.DEFAULT).exclude(id=kept.id):
        lifecycle.delete(older)  # one that a run still uses goes at a later look
    return _Seen(path, changed_ns, digest, "")


def _is_kept(seen: _Seen) -> bool:
    return Policy.objects.filter(source=Policy.DEFAULT, digest=seen.digest).exists()
