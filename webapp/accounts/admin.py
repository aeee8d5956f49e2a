"""Django's admin for operators: users, limits, tokens and the log."""

from typing import TYPE_CHECKING, Any

from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialApp, SocialToken
from django.contrib import admin
from django.http import HttpRequest

from webapp.accounts.models import ApiToken, AuditEntry, Quota, User
from webapp.accounts.user_form import UserForm

if TYPE_CHECKING:
    UserAdminBase = admin.ModelAdmin[User]
    QuotaAdminBase = admin.ModelAdmin[Quota]
    TokenAdminBase = admin.ModelAdmin[ApiToken]
    EntryAdminBase = admin.ModelAdmin[AuditEntry]
else:
    UserAdminBase = QuotaAdminBase = TokenAdminBase = EntryAdminBase = admin.ModelAdmin


@admin.register(User)
class UserAdmin(UserAdminBase):
    """Users. Nobody is deleted: make them inactive."""

    list_display = ("username", "email", "is_active", "is_operator", "last_login")
    search_fields = ("username", "email")
    form = UserForm

    def has_delete_permission(self, *_: Any, **__: Any) -> bool:
        """Nobody."""
        return False


@admin.register(Quota)
class QuotaAdmin(QuotaAdminBase):
    """Limits."""

    list_display = ("__str__", "runs_at_once", "uploads_a_day", "disk_bytes", "may_measure")


class ReadOnly:
    """Rows that the admin shows, and does not change."""

    def has_add_permission(self, _request: HttpRequest, *_: Any) -> bool:
        """Nobody."""
        return False

    def has_change_permission(self, _request: HttpRequest, _row: Any = None) -> bool:
        """Nobody."""
        return False


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnly, TokenAdminBase):
    """Tokens: an operator may revoke them, by deleting."""

    list_display = ("user", "name", "ending", "scope", "expires_at", "last_used_at")


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnly, EntryAdminBase):
    """The log."""

    list_display = ("at", "username", "action", "kind", "row_id", "address", "note")
    search_fields = ("username", "action")

    def has_delete_permission(self, *_: Any, **__: Any) -> bool:
        """Nobody."""
        return False


admin.site.unregister([SocialApp, SocialToken, EmailAddress])
"""what nothing here uses; SocialAccount stays: an operator may give somebody their earlier user"""
