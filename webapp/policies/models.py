"""Policies and their files."""

import logging
import uuid
from typing import Any, ClassVar

from django.db import models, transaction

from engine import api
from webapp.jobs.deletion import DELETED, LIVING
from webapp.jobs.job import JobWithEvents, StagedJob
from webapp.jobs.models import SavedState
from webapp.json_field import JsonTextField
from webapp.policies.summary import PolicySummary, columns_of_file
from webapp.policies.training_plan import TrainingPlan
from webapp.projects.models import Project

log = logging.getLogger(__name__)


class Policy(JobWithEvents, StagedJob):
    """Trained weights that can be applied in runs, or will be once a worker has trained them.

        queued ──▶ running ──▶ done ◀── uploaded, or built with the release
          │ ▲         ├──────▶ failed
          │ └─────────┤
          └───────────┴──────▶ cancelled

    Owners: queued → running, running → done | failed | cancelled: the worker that has claimed it; a cancelled training
    keeps what it has learned. queued → cancelled: the web, at once (running: it only sets `cancel_requested`).
    running → queued, and → failed after too many attempts, → cancelled if that was asked for and its worker died: a
    reaper. One that has ended without a file, but with a state, gets the policy of that state (`clean_up_ended`).
    An upload is done from the start. A policy can be applied once it has a file (then it has a `digest`) of the
    version that this release applies.
    """

    RUNNING: ClassVar[str] = "running"
    DONE: ClassVar[str] = "done"
    WORKING: ClassVar[str] = RUNNING
    QUEUE: ClassVar[str] = "gpu"
    WORK: ClassVar[str] = "webapp.policies.training:train_policy"
    OWNER: ClassVar[str] = "id"
    """a training belongs to no project: each takes its own turns"""

    TRAINED: ClassVar[str] = "trained"
    UPLOADED: ClassVar[str] = "uploaded"
    DEFAULT: ClassVar[str] = "default"
    FORMER: ClassVar[str] = "former"
    SOURCES: ClassVar[tuple[str, ...]] = (TRAINED, UPLOADED, DEFAULT, FORMER)

    LARGE: ClassVar[tuple[str, ...]] = ("plan", "card")
    """columns that only a policy's own page needs"""

    project = models.ForeignKey(Project, null=True, on_delete=models.CASCADE, related_name="policies")
    """None: the installation's, such as the release's own, which everybody may use and operators alone may change"""
    is_published = models.BooleanField(default=False)
    """whether every project may use it, not only its own"""
    name = models.CharField(max_length=200)
    source = models.CharField(max_length=16, default=TRAINED)
    """trained here, uploaded, the release's default, or a former default"""
    plan = JsonTextField(null=True)
    """TrainingPlan.to_json(); None if it was not trained here"""
    card = JsonTextField(null=True)
    """PolicyCard.to_json(); None until it has a file"""
    digest = models.CharField(max_length=64, default="", blank=True)
    """SHA-256 of its file, empty until there is one"""
    file_bytes = models.BigIntegerField(default=0)
    file_version = models.PositiveIntegerField(default=0)
    """version of its file; 0 until there is one"""
    note = models.TextField(default="", blank=True)
    """deviations from the request, in sentences for people; empty without any"""
    summary = JsonTextField(default=dict)
    """PolicySummary.to_json(), which lists read instead of the plan and the card"""

    class Meta:
        ordering = ("-created_at",)
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["-created_at"], condition=LIVING, name="newest_policies"),
            models.Index(fields=["status", "-created_at"], condition=LIVING, name="newest_policies_by_status"),
            models.Index(fields=["status", "heartbeat_at"], condition=LIVING, name="policy_heartbeats"),
            models.Index(fields=["deleted_at"], condition=DELETED, name="deleted_policies"),
        ]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def clean_up_ended(cls) -> None:
        """Make policies from the states of trainings that ended without a file: lost, failed or stopped.

        Each state is used once. It loads no torch and needs no graph.
        """
        for policy_id in list(cls.left_states().values_list("job_id", flat=True)):
            _salvage(policy_id)

    @property
    def has_file(self) -> bool:
        """Whether it can be downloaded."""
        return bool(self.digest)

    @property
    def is_usable(self) -> bool:
        """Whether it can be applied in runs: its file must have this release's version."""
        return self.has_file and self.file_version == api.POLICY_VERSION

    @property
    def is_outdated(self) -> bool:
        """Whether its file belongs to another release."""
        return self.has_file and not self.is_usable

    @property
    def training_plan(self) -> TrainingPlan | None:
        """The plan, typed."""
        return TrainingPlan.from_json(self.plan) if isinstance(self.plan, dict) else None

    @property
    def short(self) -> PolicySummary:
        """The summary, typed."""
        stored = self.summary if isinstance(self.summary, dict) else {}
        return PolicySummary.from_json(stored) if stored else PolicySummary()

    @property
    def trained_on(self) -> str:
        """Its training data, in a few words."""
        short = self.short
        more = f" and {short.more_families} more families" if short.more_families else ""
        graphs = f"{short.graph_count} graph{'' if short.graph_count == 1 else 's'}" if short.graph_count else ""
        return (" · " if self.has_file else " and ").join(filter(None, [", ".join(short.families) + more, graphs]))

    @property
    def known(self) -> dict[str, Any]:
        """The card as a dict, empty until there is one."""
        return self.card if isinstance(self.card, dict) else {}


class PolicyFile(models.Model):
    """The file of a policy. In the database, so that a GPU host needs nothing but database and broker."""

    policy = models.OneToOneField(Policy, on_delete=models.CASCADE, primary_key=True, related_name="file")
    blob = models.BinaryField()

    def __str__(self) -> str:
        return f"file of {self.policy_id}"


def _salvage(policy_id: uuid.UUID) -> None:
    """Make the policy from the state of one ended training."""
    with transaction.atomic():
        policy = Policy.objects.select_for_update().defer("card").filter(id=policy_id).first()
        saved = SavedState.objects.filter(job_id=policy_id).first()
        if policy is None or saved is None or not policy.has_ended:
            return
        if not policy.has_file:
            _keep(policy, bytes(saved.state))
        saved.delete()


def _keep(policy: Policy, state: bytes) -> None:
    """Give `policy` the file in `state`, and a note about it; nothing if it had learned nothing."""
    plan = policy.training_plan
    assert plan is not None, "only trainings have states"
    row = Policy.objects.filter(id=policy.id)
    try:
        blob = api.learned_until(state, policy.name, plan.families)
    except api.PlacetoError as error:
        log.warning("the state of policy %s cannot be read: %s", policy.id, error)
        row.update(note=f"{policy.note} Its last saved state can no longer be read.".strip())
        return
    if blob is None:
        return
    card = api.read_policy(blob, policy.name).card
    PolicyFile.objects.create(policy=policy, blob=blob)
    note = f"{policy.note} This is its last saved state, after {card.seconds:.0f} s of training."
    row.update(note=note.strip(), **columns_of_file(blob, card.to_json()))
