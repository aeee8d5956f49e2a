"""The pages of policies, also shown with the errors of their forms."""

import uuid
from http import HTTPStatus

from django.db.models import F, Q
from django.db.models.functions import Lower
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from engine import api
from webapp.accounts.visitor import acting
from webapp.http.user_errors import row_or_404
from webapp.pages.pagination import BY_AGE, ListPage, Sorts, asked_of, page_of
from webapp.policies import default_policy
from webapp.policies.forms import PolicyUploadForm, TrainForm, places_for_policies
from webapp.policies.models import Policy
from webapp.policies.offered import visible_policies
from webapp.projects.models import Project
from webapp.runs.devices_text import FIRST_DEVICES, describe_devices, device_choices

DISK_BYTES = F("file_bytes") + F("event_bytes")
"""of a policy: its file and the events of its training"""
POLICY_SORTS: Sorts = {
    **BY_AGE,
    "name": ("By name", (Lower("name"), "-created_at", "id")),
    "largest": ("Largest first", ("-disk_bytes", "-created_at", "id")),
}


def policy_or_404(policy_id: uuid.UUID | str, *, whole: bool = False) -> Policy:
    """The policy, its plan and card loaded only if `whole`; raises Http404 with a sentence."""
    return row_or_404(Policy.objects.all() if whole else Policy.objects.defer(*Policy.LARGE), policy_id, "policy")


def words_on_its_end(policy: Policy) -> str:
    """The outcome of a training that was stopped or failed, in a sentence; else an empty string."""
    stopped = "Its training was stopped" if policy.status == Policy.CANCELLED else "Its training failed"
    if policy.status not in (Policy.CANCELLED, Policy.FAILED):
        return ""
    if policy.is_outdated:
        return f"{stopped}: what it had learned is kept."
    if policy.is_usable:
        tried = "" if policy.known.get("held_out") else ", but was not evaluated on held-out graphs"
        return f"{stopped}: what it had learned can be applied{tried}."
    if policy.saved_state is not None:
        return f"{stopped}: what it had learned is being saved; reload in a few seconds."
    return "" if policy.note else f"{stopped} before it had learned anything."


def words_on_its_version(policy: Policy) -> str:
    """A sentence if its file belongs to another release; else an empty string."""
    if not policy.is_outdated:
        return ""
    versions = f"Its file has version {policy.file_version}, and this release applies version {api.POLICY_VERSION}"
    return f"{versions}: train it again."


def expected_of(policy: Policy) -> dict[str, list[api.ExpectedGap]]:
    """Its gaps on held-out graphs by part, if this release can apply it and read its card; else nothing."""
    if not policy.is_usable:
        return {}
    try:
        return api.expected_gaps(api.PolicyCard.from_json(policy.known, policy.name))
    except api.SettingsError:  # an upgrade may leave cards that it cannot read; their facts are shown as they are
        return {}


def policies_page(
    request: HttpRequest, upload_form: PolicyUploadForm | None = None, status: int = HTTPStatus.OK
) -> HttpResponse:
    """Context: page (of policies, `?page=`), upload_form (None where the visitor may add to no project),
    upload_limit_bytes, default_fault.
    """
    context = {
        "default_fault": default_policy.known_fault(),
        "page": _page_of_policies(request),
        "upload_form": upload_form
        or (PolicyUploadForm() if acting().may_everything or places_for_policies() else None),
        "upload_limit_bytes": api.MOST_POLICY_BYTES,
    }
    return render(request, "policies/list.html", context, status=status)


def _page_of_policies(request: HttpRequest) -> ListPage:
    asked = asked_of(request, sorts=POLICY_SORTS)
    seen = visible_policies(Policy.objects.defer(*Policy.LARGE), acting())
    found = asked.matching(seen.annotate(disk_bytes=DISK_BYTES), _policy_with)
    return page_of(found.order_by(*asked.columns), request, asked)


def _policy_with(word: str) -> Q:
    """Policies whose name, status or source has `word` in it."""
    return Q(name__icontains=word) | Q(status__icontains=word) | Q(source__icontains=word)


def train_page(
    request: HttpRequest, project: Project | None, form: TrainForm, status: int = HTTPStatus.OK
) -> HttpResponse:
    """Context: project (whose graphs are offered; None: all), form, first_devices, device_choices."""
    return render(request, "policies/train.html", {"project": project, "form": form, **_devices()}, status=status)


def places_page(request: HttpRequest) -> HttpResponse:
    """Asks for the project that a policy is to belong to. Context: places (projects)."""
    return render(request, "policies/places.html", {"places": places_for_policies()})


def train_again_page(request: HttpRequest, policy: Policy, project: Project | None) -> HttpResponse:
    """The form with what was chosen for `policy`, for a policy of `project`. Context: project, form, missing (names).
    Raises Http404 without a plan.
    """
    plan = policy.training_plan
    if plan is None:
        raise Http404("This policy was not trained here.")
    form = TrainForm(project, initial={"name": policy.name, **plan.fields()})
    context = {"project": project, "form": form, "missing": form.missing(plan), **_devices()}
    return render(request, "policies/train.html", context)


def _devices() -> dict[str, object]:
    """What the builder of devices begins with: a worker elsewhere knows no machine by its name, so it offers none."""
    first = describe_devices(FIRST_DEVICES, {})
    return {"first_devices": FIRST_DEVICES, "device_choices": device_choices({}, first)}
