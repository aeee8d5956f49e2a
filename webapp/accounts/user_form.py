"""The form of a user for operators, on the pages and in Django's admin: somebody stays an operator."""

from typing import TYPE_CHECKING, Any

from django import forms

from webapp.accounts.models import User

if TYPE_CHECKING:
    ModelForm = forms.ModelForm[User]
else:
    ModelForm = forms.ModelForm  # generic for the type checker only

LAST_OPERATOR = "Somebody must be an operator: make another user one first."


class UserForm(ModelForm):
    """A user, as an operator sees one. Checked and saved in one transaction."""

    class Meta:
        model = User
        fields = ("username", "email", "is_active", "is_operator")

    def clean(self) -> dict[str, Any]:
        """Refuse to leave nobody an active operator."""
        super().clean()
        stays = self.cleaned_data.get("is_operator") and self.cleaned_data.get("is_active")
        if not self.instance._state.adding and not stays and self._is_last_operator():
            self.add_error("is_operator", LAST_OPERATOR)
        return self.cleaned_data

    def _is_last_operator(self) -> bool:
        """Whether there is no other; a second request waits here for the first one."""
        operators = User.objects.select_for_update().filter(is_operator=True, is_active=True).order_by("id")
        return {user.id for user in operators} <= {self.instance.id}
