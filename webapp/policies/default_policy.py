"""The policy that comes with the release: kept as a row, so that every form offers it.

The web server keeps the row, when it starts and every few seconds; requests only read what it has found.
"""

import hashlib
import logging
import threading
import uuid
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connections

from engine import api
from webapp.policies import lifecycle
from webapp.policies.models import Policy

log = logging.getLogger(__name__)

NAME = "Default policy"
SECONDS_BETWEEN_LOOKS = 10.0
LONGEST_FIRST_LOOK_SECONDS = 10.0
"""for which the start of the web server waits: the database may hang"""
_NAMESPACE = uuid.UUID("5f0a4f0e-6f0b-4a4e-9d35-0f3d1c6d5a10")


@dataclass(frozen=True, slots=True)
class _CheckedFile:
    """The result of checking a file."""

    path: Path
    changed_ns: int
    digest: str
    fault: str
    """why it cannot be used; empty if it can"""
    lasts: bool = True
    """whether the fault is in the file, which need not be checked again until it changes"""

    def holds_for(self, path: Path, changed_ns: int) -> bool:
        """Whether the result still holds for this file."""
        same = (self.path, self.changed_ns) == (path, changed_ns)
        return same and (self.lasts if self.fault else _is_kept(self))


_checked_file: _CheckedFile | None = None
_guard = threading.Lock()


def known_fault() -> str:
    """Why the file cannot be used, at the last look; an empty string if it can, or is missing."""
    seen = _checked_file
    return seen.fault if seen is not None and seen.path == Path(settings.DEFAULT_POLICY) else ""


def keep_up_to_date() -> None:
    """Let a thread of this process keep the row from now on; wait for its first look."""
    looked = threading.Event()
    threading.Thread(target=_keep, args=(looked,), name="default policy", daemon=True).start()
    looked.wait(LONGEST_FIRST_LOOK_SECONDS)


def _keep(looked: threading.Event) -> None:
    never = threading.Event()
    while True:
        try:
            bring_up_to_date()
        except DatabaseError:
            log.warning("the default policy could not be looked at; the next look comes soon", exc_info=True)
        except Exception:  # the thread must not end
            log.exception("the default policy could not be looked at")
        finally:
            connections.close_all()
            looked.set()
        never.wait(SECONDS_BETWEEN_LOOKS)


def bring_up_to_date() -> None:
    """Store the file named in the settings as a row; read it again only after a change.

    Rows of earlier default files become former defaults. They are deleted once no unfinished run uses them, unless the
    present file cannot be used: then `known_fault` says why.
    """
    global _checked_file
    path = Path(settings.DEFAULT_POLICY)
    with _guard:
        try:
            changed_ns = path.stat().st_mtime_ns
        except OSError:
            _checked_file = None
            _retire("")
            return
        seen = _checked_file
        if seen is None or not seen.holds_for(path, changed_ns):
            seen = _checked_file = _look_at(path, changed_ns)
        _retire(seen.digest)


def _look_at(path: Path, changed_ns: int) -> _CheckedFile:
    try:
        if (kept := _kept_already(path, changed_ns)) is not None:
            return kept
        card = api.check_policy(path, path.name)
        blob = path.read_bytes()
    except (api.PlacetoError, OSError) as error:
        lasts = isinstance(error, api.SettingsError)
        return _CheckedFile(path, changed_ns, "", f"The default policy cannot be used: {error}", lasts)
    digest = hashlib.sha256(blob).hexdigest()
    policy = lifecycle.keep_file(NAME, Policy.DEFAULT, blob, card, lifecycle.id_of_file(_NAMESPACE, digest))
    Policy.objects.filter(id=policy.id).update(
        source=Policy.DEFAULT
    )  # it may be the former default of an earlier release
    return _CheckedFile(path, changed_ns, digest, "")


def _kept_already(path: Path, changed_ns: int) -> _CheckedFile | None:
    """The result where an earlier process has checked and kept the same file; None where it is to be checked."""
    if path.stat().st_size > api.MOST_POLICY_BYTES:
        return None
    found = _CheckedFile(path, changed_ns, hashlib.sha256(path.read_bytes()).hexdigest(), "")
    return found if _is_kept(found) else None


def _retire(digest: str) -> None:
    """Retire the rows of all files but that of `digest`; delete unused ones if `digest` is not empty."""
    others = Policy.objects.filter(source__in=(Policy.DEFAULT, Policy.FORMER)).exclude(digest=digest)
    for former in others.defer(*Policy.LARGE):
        if former.source == Policy.DEFAULT:
            Policy.objects.filter(id=former.id).update(source=Policy.FORMER)
        if digest:
            lifecycle.delete(former)  # a later call deletes one that a run still uses


def _is_kept(seen: _CheckedFile) -> bool:
    kept = Policy.objects.filter(source=Policy.DEFAULT, digest=seen.digest)
    return kept.filter(file_version=api.POLICY_VERSION).exists()
