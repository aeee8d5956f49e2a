"""Setting and changing passwords."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from axes.handlers.proxy import AxesProxyHandler
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import views
from django.contrib.auth.forms import PasswordResetForm
from django.contrib.auth.signals import user_login_failed
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse_lazy

from webapp.access.marks import AccessRule, ruled
from webapp.accounts import audit
from webapp.accounts.sign_ins import list_session
from webapp.accounts.visitor import of_user
from webapp.accounts_mode import LOCAL
from webapp.pages.accounts.log_in import NO_PASSWORDS, locked_out, public

NO_MAIL = "This installation sends no mail: ask an operator for a link that sets a new password."


mails = ThreadPoolExecutor(max_workers=1, thread_name_prefix="mails")
"""sends them, one after the other"""


class _WithPasswords:
    """Only where people log in by a password."""

    def dispatch(self, request: HttpRequest, *arguments: Any, **named: Any) -> HttpResponseBase:
        """Answer. Raises Http404 elsewhere."""
        if settings.ACCOUNTS != LOCAL:
            raise Http404(NO_PASSWORDS)
        answer: HttpResponseBase = super().dispatch(request, *arguments, **named)  # type: ignore[misc]
        return answer


class ChangePassword(_WithPasswords, views.PasswordChangeView):
    """One's own; other sessions of the user end."""

    template_name = "accounts/change_password.html"
    success_url = reverse_lazy("accounts:own")

    def dispatch(self, request: HttpRequest, *arguments: Any, **named: Any) -> HttpResponseBase:
        """Answer; an address that has guessed too often waits, as after refused log-ins."""
        if request.method == "POST" and not AxesProxyHandler.is_allowed(request):
            return locked_out(request)
        return super().dispatch(request, *arguments, **named)

    def form_invalid(self, form: Any) -> HttpResponse:
        """Say what is wrong; a wrong old password counts as a refused log-in."""
        if "old_password" in form.errors:
            tried = {"username": form.user.username}
            user_login_failed.send(sender=__name__, credentials=tried, request=self.request)
        return super().form_invalid(form)

    def form_valid(self, form: Any) -> HttpResponse:
        """Change it."""
        messages.info(self.request, "Your password is changed. Your other sessions have ended; your tokens still work.")
        answer = super().form_valid(form)
        list_session(self.request, form.user)  # which has another key now
        return answer


class SetPassword(_WithPasswords, views.PasswordResetConfirmView):
    """What the link of an operator or of a mail opens."""

    template_name = "accounts/set_password.html"
    success_url = reverse_lazy("accounts:log-in")

    def form_valid(self, form: Any) -> HttpResponse:
        """Set it."""
        answer = super().form_valid(form)
        audit.note("set-password", request=self.request, visitor=of_user(form.user))
        messages.info(self.request, "Your password is set. Log in with it.")
        return answer


class MailForm(PasswordResetForm):
    """The address; the mail is sent beside the answer, which takes no longer for a user who is there."""

    def send_mail(self, *arguments: Any, **named: Any) -> None:
        """Have it sent."""
        mails.submit(super().send_mail, *arguments, **named)


class AskForMail(_WithPasswords, views.PasswordResetView):
    """Sends a link to the address of a user; the answer is the same if there is none."""

    template_name = "accounts/ask_for_mail.html"
    email_template_name = "accounts/mail.txt"
    subject_template_name = "accounts/mail_subject.txt"
    form_class = MailForm
    success_url = reverse_lazy("accounts:log-in")

    def dispatch(self, request: HttpRequest, *arguments: Any, **named: Any) -> HttpResponseBase:
        """Answer. Raises Http404 where no mail is sent."""
        if not settings.SENDS_MAIL:
            raise Http404(NO_MAIL)
        return super().dispatch(request, *arguments, **named)

    def form_valid(self, form: Any) -> HttpResponse:
        """Send it."""
        messages.info(self.request, "If a user has this address, a mail with a link is on its way.")
        return super().form_valid(form)


change_password = ruled(AccessRule(accounts=True))(ChangePassword.as_view())
set_password = public(SetPassword.as_view())
ask_for_mail = public(AskForMail.as_view())
