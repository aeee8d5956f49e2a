"""What pages and scripts are told of policies; the pages that come again with a form's errors."""

import uuid
from http import HTTPStatus

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from engine import api
from webapp.policies import default_policy
from webapp.policies.forms import PolicyUploadForm, TrainForm
from webapp.policies.models import Policy
from webapp.projects.models import Project


def policy_or_404(policy_id: uuid.UUID) -> Policy:
    """The policy; raises Http404 with a sentence."""
    policy = Policy.objects.filter(id=policy_id).first()
    if policy is None:
        raise Http404("This policy does not exist, or it has been deleted.")
    return policy


def usable_policies() -> list[Policy]:
    """Those that can be applied, the release's first, then the newest."""
    default_policy.bring_up_to_date()
    usable = Policy.objects.exclude(digest="")
    return sorted(usable, key=lambda policy: policy.source != Policy.DEFAULT)


def policies_page(
    request: HttpRequest, upload_form: PolicyUploadForm | None = None, status: int = HTTPStatus.OK
) -> HttpResponse:
    """Context: policies, upload_form, upload_limit_bytes, default_fault."""
    context = {
        "default_fault": default_policy.bring_up_to_date(),
        "policies": Policy.objects.all(),
        "upload_form": upload_form or PolicyUploadForm(),
        "upload_limit_bytes": api.MOST_POLICY_BYTES,
    }
    return render(request, "policies/list.html", context, status=status)


def train_page(
    request: HttpRequest, project: Project | None, form: TrainForm, status: int = HTTPStatus.OK
) -> HttpResponse:
    """Context: project (whose graphs are offered; None: all), form."""
    return render(request, "policies/train.html", {"project": project, "form": form}, status=status)
