"""The page behind the set-up link: it makes the first operator, to whom everything then belongs."""

from typing import TYPE_CHECKING

from django.contrib.auth import login
from django.contrib.auth.forms import BaseUserCreationForm
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from webapp.accounts import audit, set_up
from webapp.accounts.models import User
from webapp.accounts.visitor import of_user
from webapp.pages.accounts.log_in import public
from webapp.projects.adopting import adopt_projects

if TYPE_CHECKING:
    UserCreationForm = BaseUserCreationForm[User]
else:
    UserCreationForm = BaseUserCreationForm  # generic for the type checker only

USED = "This link has been used, or it is not complete. The log of the web server says the valid one."
BACKEND = "webapp.accounts.backends.Passwords"


class FirstOperatorForm(UserCreationForm):
    """Name, address, and the password twice."""

    class Meta:
        model = User
        fields = ("username", "email")


@public
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def first_operator(request: HttpRequest, token: str) -> HttpResponse:
    """The form; a valid one makes the first operator and logs them in. Raises Http404 once there is one."""
    if not set_up.opens(token):
        raise Http404(USED)
    form = FirstOperatorForm(request.POST or None)
    if form.is_valid():
        asked = form.cleaned_data
        with transaction.atomic():
            user = set_up.make_first_operator(asked["username"], asked["email"], asked["password1"])
            if user is None:
                raise Http404(USED)
            adopt_projects(user)
        audit.note("set-up", request=request, visitor=of_user(user))
        login(request, user, backend=BACKEND)
        return redirect("home:page")
    return render(request, "accounts/first.html", {"form": form}, status=400 if form.is_bound else 200)
