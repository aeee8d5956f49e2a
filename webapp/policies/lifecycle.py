"""Starts trainings, stores uploaded policies, and deletes unused ones."""

import hashlib
from functools import partial
from itertools import count
from pathlib import PurePath
from typing import Any
from uuid import UUID, uuid4, uuid5

from django.db import transaction
from django.db.models.functions import Now

from engine import api
from webapp.accounts import quotas
from webapp.graphs.incoming import IncomingFile
from webapp.graphs.upload_checks import place_for_a_check
from webapp.jobs import deletion
from webapp.jobs.publishing import publish_soon
from webapp.policies.models import Policy, PolicyFile
from webapp.policies.summary import columns_of_file, summary_of_plan
from webapp.policies.training_plan import TrainingPlan
from webapp.projects.models import Project

SUFFIX = ".safetensors"
LONGEST_NAME = 200
_UPLOADS = UUID("1f0c7a52-6f9b-4d0e-8a3e-2b8f3f0a9c41")


def start_training(name: str, plan: TrainingPlan, project: Project | None = None) -> Policy:
    """Queue a training, whose policy belongs to `project`. Raises QuotaError."""
    policy = Policy(name=name, project=project, plan=plan.to_json(), summary=summary_of_plan(plan).to_json())
    with transaction.atomic():
        quotas.require_training(Policy.unended())
        policy.save(force_insert=True)
        transaction.on_commit(partial(publish_soon, Policy.QUEUE))
    return policy


def accept_upload(file: IncomingFile, project: Project | None = None) -> tuple[Policy, bool]:
    """Check the file in a child and store it once in `project`; returns the policy, and whether it is new.

    Raises a PlacetoError and then stores nothing.
    """
    name = file.name or "policy"
    suffix = PurePath(name).suffix.lower()
    if suffix != SUFFIX:
        raise api.SettingsError(
            f"a file ending in {suffix[:20] or 'nothing'}", where=name, allowed=SUFFIX, field="file"
        )
    if (file.size or 0) > api.MOST_POLICY_BYTES:
        raise api.LimitError(
            f"the file is too large: {api.bytes_words(file.size or 0)}",
            allowed=f"at most {api.bytes_words(api.MOST_POLICY_BYTES)}",
            field="file",
        )
    with place_for_a_check():
        card = api.check_policy(file.path, name)
    known = card["name"] if isinstance(card["name"], str) else ""
    blob = file.path.read_bytes()
    digest = hashlib.sha256(blob).hexdigest()
    # The release's policies do not count: a new default replaces them.
    others = Policy.objects.exclude(source__in=(Policy.DEFAULT, Policy.FORMER))
    existing = others.defer(*Policy.LARGE).filter(digest=digest, project=project).last()  # the oldest
    if existing is not None:
        return existing, False
    policy_id = id_of_file(_UPLOADS, digest if project is None else f"{digest} of {project.id}")
    return keep_file(known.strip() or PurePath(name).stem, Policy.UPLOADED, blob, card, policy_id, project), True


def id_of_file(namespace: UUID, digest: str) -> UUID:
    """The id of a file's policy: derived from the file, so that of two requests at once the second finds the row.

    While a deleted policy with that id waits for its purge, the next one.
    """
    names = (digest if number == 0 else f"{digest} {number}" for number in count())
    ids = (uuid5(namespace, name) for name in names)
    return next(key for key in ids if not Policy.all_rows.filter(id=key, deleted_at__isnull=False).exists())


def keep_file(
    name: str,
    source: str,
    blob: bytes,
    card: dict[str, api.Json],
    policy_id: UUID | None = None,
    project: Project | None = None,
) -> Policy:
    """Store a finished policy with its file; an existing row with `policy_id` is left as it is."""
    values: dict[str, Any] = {
        "name": name[:LONGEST_NAME],
        "source": source,
        "project": project,
        "status": Policy.DONE,
        **columns_of_file(blob, card),
    }
    with transaction.atomic():
        policy, _ = Policy.objects.get_or_create(id=policy_id or uuid4(), defaults=values | {"finished_at": Now()})
        PolicyFile.objects.get_or_create(policy=policy, defaults={"blob": blob})
    return policy


def delete(policy: Policy) -> bool:
    """Delete it; False, and nothing is deleted, while a run uses it. Ended runs keep its name and digest."""
    with transaction.atomic():
        Policy.objects.select_for_update().filter(id=policy.id).first()
        if policy.runs.filter(status__in=(Policy.QUEUED, Policy.RUNNING)).exists():
            return False
        deletion.delete(policy)
    return True
