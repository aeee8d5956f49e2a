"""Members of a project: list, add, change, remove; and whether everybody may see it."""

import uuid
from http import HTTPStatus

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from engine import api
from webapp.access.marks import AccessRule, ruled
from webapp.accounts import audit
from webapp.accounts.models import User
from webapp.form_errors import add_to_form
from webapp.http.user_errors import error_answer, refused_form, row_or_404
from webapp.pages.projects.page import project_or_404
from webapp.projects.access import Role
from webapp.projects.members import remove_member, set_role
from webapp.projects.models import Membership, Project

NOT_A_MEMBER = "This user is no member of this project."
seen_by_members = ruled(AccessRule(reading=Role.VIEWER, role=Role.OWNER, accounts=True))
owners_only = ruled(AccessRule(role=Role.OWNER, accounts=True))


class MemberForm(forms.Form):
    """A user's role."""

    username = forms.CharField(label="User", max_length=150, widget=forms.TextInput(attrs={"autocomplete": "off"}))
    role = forms.ChoiceField(label="Role", choices=Membership.ROLES, initial=Membership.VIEWER)


@seen_by_members
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def members(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    """The page; a POST adds a member, or changes their role."""
    project = project_or_404(project_id)
    if request.method != "POST":
        return _page(request, project, MemberForm())
    form = MemberForm(request.POST)
    if form.is_valid():
        try:
            member = set_role(project, form.cleaned_data["username"], form.cleaned_data["role"])
            audit.tell(request, "user", member.user_id, f"{member.user.username}: {member.role}")
            return redirect("members:list", project_id=project.id)
        except api.PlacetoError as error:
            add_to_form(form, error, "username")
    return refused_form(request, form, lambda **named: _page(request, project, form, **named))


def _page(request: HttpRequest, project: Project, form: MemberForm, status: int = HTTPStatus.OK) -> HttpResponse:
    """Context: project, members, form, roles."""
    context = {
        "project": project,
        "members": project.memberships.select_related("user"),
        "form": form,
        "roles": Membership.ROLES,
    }
    return render(request, "members/page.html", context, status=status)


@owners_only
@require_POST
def remove(request: HttpRequest, project_id: uuid.UUID, user_id: uuid.UUID) -> HttpResponse:
    """Remove a member. Raises Http404 for anybody else."""
    project = project_or_404(project_id)
    user = row_or_404(User.objects.filter(memberships__project=project), user_id, "member")
    try:
        if not remove_member(project, user):
            raise Http404(NOT_A_MEMBER)
    except api.PlacetoError as error:
        return error_answer(request, HTTPStatus.CONFLICT, {error.field: [str(error)]})
    audit.tell(request, "user", user.id, f"{user.username}: no member")
    return redirect("members:list", project_id=project.id)


@owners_only
@require_POST
def open_to_all(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    """Let everybody who has an account see it, or its members alone: `open`, 1 or 0."""
    project = project_or_404(project_id)
    Project.objects.filter(id=project.id).update(open_to_all=request.POST.get("open") == "1")
    return redirect("members:list", project_id=project.id)
