"""The form of a webhook."""

from collections.abc import Mapping
from typing import Any

from django import forms

from engine import api
from webapp.form_errors import add_to_form
from webapp.hooks.apprise_post import require_apprise_target, scheme_of
from webapp.hooks.events import EVENTS, USUAL
from webapp.hooks.models import Webhook
from webapp.hooks.reachable import AllowedPlaces
from webapp.hooks.web_address import LONGEST_TARGET, USUAL_PORTS, WebAddress


class WebhookForm(forms.Form):
    """Name, address and events. Of a stored webhook an empty address keeps the one that it has."""

    name = forms.CharField(label="Name", max_length=200)
    target = forms.CharField(label="Address", max_length=LONGEST_TARGET)
    events = forms.MultipleChoiceField(
        label="Tell it when",
        choices=list(EVENTS.items()),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one event."},
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *, hook: Webhook | None = None) -> None:
        """`hook`: the stored one."""
        shown = {"events": USUAL} if hook is None else {"name": hook.name, "events": hook.event_names}
        super().__init__(data, initial=shown)
        self._hook = hook
        self.fields["target"].required = hook is None
        attributes = {"autocomplete": "off", "spellcheck": "false", "aria-describedby": "id_target_helptext"}
        self.fields["target"].widget.attrs |= attributes | ({} if hook is None else {"placeholder": place_of(hook)})

    def clean(self) -> dict[str, Any]:
        """Judge the address, which is never repeated in a sentence."""
        cleaned: dict[str, Any] = super().clean() or {}
        if target := cleaned.get("target"):
            try:
                cleaned["kind"] = kind_of(target)
            except api.PlacetoError as error:
                add_to_form(self, error, "target")
        return cleaned

    def hook(self, origin: str) -> Webhook:
        """The row with the form's values, not stored yet. `origin`: where the pages are."""
        hook = self._hook or Webhook()
        hook.name, hook.events, hook.origin = self.cleaned_data["name"], self.cleaned_data["events"], origin
        if target := self.cleaned_data["target"]:
            hook.target, hook.kind = target, self.cleaned_data["kind"]
        return hook


def kind_of(target: str) -> str:
    """Webhook or Apprise, by how the address begins. Raises SettingsError where nothing can be sent to it."""
    if scheme_of(target) not in ("", *USUAL_PORTS):
        require_apprise_target(target)
        return Webhook.APPRISE
    WebAddress.read(target, AllowedPlaces.of_settings())
    return Webhook.WEBHOOK


def place_of(hook: Webhook) -> str:
    """What may be shown of the address: `hooks.example.org`, or the service's name. The rest may be a secret."""
    if hook.kind == Webhook.APPRISE:
        return f"{scheme_of(hook.target)}://…"
    try:
        return WebAddress.read(hook.target, AllowedPlaces.of_settings()).place
    except api.PlacetoError:
        return "an address that is not allowed any more"
