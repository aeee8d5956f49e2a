"""Policies: list, upload, train, page, events, state, cancel, download, delete."""

import uuid
from functools import partial
from http import HTTPStatus

from django.conf import settings
from django.contrib import messages as notices
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.text import slugify
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from engine import api
from webapp.access.marks import needs
from webapp.accounts.visitor import acting
from webapp.accounts_mode import OFF
from webapp.form_errors import add_to_form
from webapp.graphs.incoming import IncomingFile
from webapp.http.user_errors import conflict, refused_form, row_or_404, status_of
from webapp.jobs.cancelling import cancel as cancel_job
from webapp.jobs.job import CHANGED
from webapp.pages.deleting import deletion_page
from webapp.pages.policies.page import (
    expected_of,
    places_page,
    policies_page,
    policy_or_404,
    train_again_page,
    train_page,
    words_on_its_end,
    words_on_its_version,
)
from webapp.pages.renaming import rename as rename_row
from webapp.pages.run_lines import page_of_runs
from webapp.policies import lifecycle
from webapp.policies.forms import PolicyUploadForm, TrainForm
from webapp.policies.models import Policy, PolicyFile
from webapp.policies.offered import visible_policies
from webapp.policies.training_store import STAGE_WORDS
from webapp.projects.access import Role, editable_by, in_visible_projects
from webapp.projects.models import Project

IN_USE = "An unfinished run uses this policy; cancel the run or wait for its end, then delete the policy."
RUNS_STAY = "The runs that started from it keep their answers and its name."
OF_THE_RELEASE = "This policy came with the release; it can be neither renamed nor deleted."
THERE_ALREADY = "This file is already here, as this policy."
EVERYBODYS = "This policy belongs to no project: every project may use it already."
NO_FILE = "This policy has no file: its training has not ended, or it failed."


@require_safe
@never_cache
def policy_list(request: HttpRequest) -> HttpResponse:
    """All policies."""
    return policies_page(request)


@require_POST
def upload(request: HttpRequest) -> HttpResponse:
    """Store a file as a policy."""
    form = PolicyUploadForm(request.POST, request.FILES)
    status = HTTPStatus.BAD_REQUEST
    if form.is_valid():
        file = form.cleaned_data["file"]
        assert isinstance(file, IncomingFile)
        try:
            policy, is_new = lifecycle.accept_upload(file, form.chosen_project)
        except api.PlacetoError as error:
            add_to_form(form, error, "file")
            status = status_of(error)
        else:
            if not is_new:
                notices.info(request, THERE_ALREADY)
            return redirect("policies:detail", policy_id=policy.id)
    return refused_form(request, form, partial(policies_page, request, form), status)


@require_http_methods(["GET", "HEAD", "POST"])
def train(request: HttpRequest) -> HttpResponse:
    """The form of a training; a valid one starts it.

    `?project=` offers that project's graphs alone; `?like=` fills in the choices of another policy.
    """
    like = _seen_policy(request.GET["like"]) if "like" in request.GET else None
    project = _project_of(request, like)
    if project is None and settings.ACCOUNTS != OFF:
        return places_page(request)
    if request.method != "POST":
        if like is not None:
            return train_again_page(request, like, project)
        return train_page(request, project, TrainForm(project))
    form = TrainForm(project, request.POST)
    if form.is_valid():
        place = None if settings.ACCOUNTS == OFF else project
        policy = lifecycle.start_training(form.cleaned_data["name"], form.plan, place)
        return redirect("policies:detail", policy_id=policy.id)
    return refused_form(request, form, partial(train_page, request, project, form))


def _project_of(request: HttpRequest, like: Policy | None) -> Project | None:
    """The project that the address names, or else that of the policy to train again, if the visitor may add to it."""
    text = request.GET.get("project", "")
    if text:
        return row_or_404(editable_by(acting()), text, "project")
    if like is None or like.project_id is None:
        return None
    return editable_by(acting()).filter(id=like.project_id).first()


def _seen_policy(text: str) -> Policy:
    return row_or_404(visible_policies(Policy.objects.all(), acting()), text, "policy")


@require_safe
@never_cache
def detail(request: HttpRequest, policy_id: uuid.UUID) -> HttpResponse:
    """Context: policy, card, changed (settings of its training that are not as usual), expected (part → gaps on
    held-out graphs), ranges (what its training problems were like, in words), plan, ending and outdated (in words),
    lines (a page of the runs that apply it, of those that the visitor may see), stage_words.
    """
    policy = policy_or_404(policy_id, whole=True)
    context = {
        "policy": policy,
        "card": policy.known,
        "changed": api.changed_settings(policy.known.get("training", {})),
        "expected": expected_of(policy),
        "ranges": api.ranges_words(policy.known.get("ranges", {})),
        "plan": policy.training_plan,
        "ending": words_on_its_end(policy),
        "outdated": words_on_its_version(policy),
        "lines": page_of_runs(in_visible_projects(policy.runs.all(), acting()), request),
        "stage_words": STAGE_WORDS,
    }
    return render(request, "policies/detail.html", context)


@require_POST
def cancel(request: HttpRequest, policy_id: uuid.UUID) -> HttpResponse:
    """Cancel its training; what it has learned so far is kept."""
    policy = policy_or_404(policy_id)
    if not cancel_job(policy):
        return conflict(request, "This training had already ended.", _back(policy))
    return redirect("policies:detail", policy_id=policy_id)


@require_safe
@never_cache
def download(request: HttpRequest, policy_id: uuid.UUID) -> HttpResponse:
    """Its file."""
    policy = policy_or_404(policy_id)
    file = PolicyFile.objects.filter(policy=policy).first()
    if file is None:
        raise Http404(NO_FILE)
    name = slugify(policy.name)[:60] or "policy"
    headers = {"Content-Disposition": f'attachment; filename="{name}{lifecycle.SUFFIX}"'}
    return HttpResponse(bytes(file.blob), content_type="application/octet-stream", headers=headers)


@require_POST
@needs(Role.OWNER)
def publish(request: HttpRequest, policy_id: uuid.UUID) -> HttpResponse:
    """Let every project use it, or its own alone again: `published`, 1 or 0."""
    policy = policy_or_404(policy_id)
    if policy.project_id is None:
        return conflict(request, EVERYBODYS, _back(policy))
    Policy.objects.filter(id=policy.id).update(is_published=request.POST.get("published") == "1", **CHANGED)
    return _back(policy)


@require_POST
def rename(request: HttpRequest, policy_id: uuid.UUID) -> HttpResponse:
    """Give it another name; the release's keeps its own."""
    policy = policy_or_404(policy_id)
    if policy.source == Policy.DEFAULT:
        return conflict(request, OF_THE_RELEASE, _back(policy))
    return rename_row(request, policy, _back(policy))


@needs(Role.EDITOR)
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, policy_id: uuid.UUID) -> HttpResponse:
    """Ask; a POST deletes it unless a run uses it; a worker that trains it notices and stops."""
    policy = policy_or_404(policy_id)
    if request.method != "POST":
        disk_bytes = policy.file_bytes + policy.event_bytes
        back = reverse("policies:detail", args=[policy_id])
        return deletion_page(request, policy, policy.name, back, RUNS_STAY, disk_bytes)
    if policy.source == Policy.DEFAULT:
        return conflict(request, OF_THE_RELEASE, _back(policy))
    if not lifecycle.delete(policy):
        return conflict(request, IN_USE, _back(policy))
    return redirect("policies:list")


def _back(policy: Policy) -> HttpResponse:
    return redirect("policies:detail", policy_id=policy.id)
