"""Pages of operators: users, what each may use, links that set a password, and the log."""

import uuid
from http import HTTPStatus
from typing import TYPE_CHECKING

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Lower
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from webapp.access.marks import AccessRule, ruled
from webapp.accounts import audit
from webapp.accounts.models import AuditEntry, Quota, User
from webapp.accounts.password_links import password_path
from webapp.accounts.user_form import UserForm
from webapp.accounts_mode import LOCAL
from webapp.http.user_errors import conflict, row_or_404
from webapp.pages.pagination import Sorts, asked_of, page_of

if TYPE_CHECKING:
    QuotaModelForm = forms.ModelForm[Quota]
else:
    QuotaModelForm = forms.ModelForm

operators = ruled(AccessRule(operators=True, accounts=True))
COME_IN_ELSEWHERE = "Users are made at their first visit here: nobody adds them."
USER_SORTS: Sorts = {
    "name": ("By name", (Lower("username"), "id")),
    "newest": ("Newest first", ("-date_joined", "id")),
    "seen": ("Last log-in first", ("-last_login", "id")),
}
ENTRY_SORTS: Sorts = {"newest": ("Newest first", ("-id",)), "oldest": ("Oldest first", ("id",))}


class QuotaForm(QuotaModelForm):
    """What a user may use; empty: no limit."""

    class Meta:
        model = Quota
        exclude = ("user",)


@operators
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def users(request: HttpRequest) -> HttpResponse:
    """All users; a POST adds one, and shows the link that sets the password. Context: users, form, adds, new_link."""
    if request.method == "POST" and settings.ACCOUNTS != LOCAL:
        return conflict(request, COME_IN_ELSEWHERE, redirect("accounts:users"))
    form = UserForm(request.POST or None, initial={"is_active": True})
    link, status = "", HTTPStatus.OK
    if form.is_bound and form.is_valid():
        user = form.save(commit=False)
        user.set_unusable_password()
        user.save()
        audit.tell(request, "user", user.id, _rights(user))
        link, status = _link_for(request, user), HTTPStatus.CREATED
        form = UserForm(initial={"is_active": True})
    elif form.is_bound:
        status = HTTPStatus.BAD_REQUEST
    asked = asked_of(request, sorts=USER_SORTS)
    found = asked.matching(User.objects.all(), lambda word: Q(username__icontains=word) | Q(email__icontains=word))
    page = page_of(found.order_by(*asked.columns), request, asked)
    context = {"users": page, "form": form, "adds": settings.ACCOUNTS == LOCAL, "new_link": link}
    return render(request, "accounts/users.html", context, status=status)


@operators
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@transaction.atomic
def user(request: HttpRequest, user_id: uuid.UUID) -> HttpResponse:
    """One user; a POST changes name, rights and limits."""
    row = _user_or_404(user_id)
    quota = Quota.objects.filter(user=row).first()
    form = UserForm(request.POST or None, instance=row, prefix="user")
    quota_form = QuotaForm(request.POST or None, instance=quota or Quota(user=row), prefix="quota")
    if form.is_bound and form.is_valid() and quota_form.is_valid():
        form.save()
        _store_quota(quota_form)
        limits = f"; limits: {', '.join(quota_form.changed_data)}" if quota_form.has_changed() else ""
        audit.tell(request, "user", row.id, f"{_rights(row)}{limits}")
        messages.info(request, "Saved.")
        return redirect("accounts:user", user_id=row.id)
    status = HTTPStatus.BAD_REQUEST if form.is_bound else HTTPStatus.OK
    context = {
        "account": row,
        "form": form,
        "quota_form": quota_form,
        "has_own": quota is not None,
        "adds": settings.ACCOUNTS == LOCAL,
    }
    return render(request, "accounts/user.html", context, status=status)


@operators
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def everybodys_quota(request: HttpRequest) -> HttpResponse:
    """The limits of those who have none of their own; a POST changes them."""
    row = Quota.objects.filter(user=None).first() or Quota()
    form = QuotaForm(request.POST or None, instance=row)
    if form.is_bound and form.is_valid():
        _store_quota(form)
        messages.info(request, "Saved.")
        return redirect("accounts:limits")
    status = HTTPStatus.BAD_REQUEST if form.is_bound else HTTPStatus.OK
    return render(request, "accounts/limits.html", {"form": form}, status=status)


@operators
@require_POST
def remove_quota(request: HttpRequest, user_id: uuid.UUID) -> HttpResponse:
    """Give the user the limits of everybody again."""
    row = _user_or_404(user_id)
    Quota.objects.filter(user=row).delete()
    audit.tell(request, "user", row.id, f"{row.username}: the limits of everybody")
    return redirect("accounts:user", user_id=row.id)


@operators
@require_POST
@never_cache
def password_link(request: HttpRequest, user_id: uuid.UUID) -> HttpResponse:
    """Show a link, this once, by which the user sets a password."""
    row = _user_or_404(user_id)
    if settings.ACCOUNTS != LOCAL or not row.is_active:
        page = redirect("accounts:user", user_id=row.id)
        return conflict(request, "This user cannot log in by a password.", page)
    audit.tell(request, "user", row.id, f"{row.username}: a link that sets a password")
    return render(request, "accounts/link.html", {"account": row, "new_link": _link_for(request, row)}, status=201)


@operators
@require_safe
@never_cache
def log(request: HttpRequest) -> HttpResponse:
    """Who did what. Context: entries (a page)."""
    asked = asked_of(request, sorts=ENTRY_SORTS)
    found = asked.matching(
        AuditEntry.objects.all(),
        lambda word: Q(username__icontains=word) | Q(action__icontains=word) | Q(kind__icontains=word),
    )
    return render(request, "accounts/log.html", {"entries": page_of(found.order_by(*asked.columns), request, asked)})


def _rights(row: User) -> str:
    """Name and rights, for the log."""
    may = "not active" if not row.is_active else "operator" if row.is_operator else "active"
    return f"{row.username}: {may}"


def _user_or_404(user_id: uuid.UUID) -> User:
    return row_or_404(User.objects.all(), user_id, "user")


def _store_quota(form: QuotaForm) -> None:
    if form.has_changed() or form.instance.pk is not None:
        form.save()


def _link_for(request: HttpRequest, row: User) -> str:
    return request.build_absolute_uri(password_path(row))
