"""Policies: trained here, uploaded, or built with the release; reusable on other graphs."""

from django.apps import AppConfig


class PoliciesConfig(AppConfig):
    """The app `policies`; gives policies of no project to an operator."""

    name = "webapp.policies"
    label = "policies"

    def ready(self) -> None:
        from webapp.policies import adopting  # noqa: F401  connects its receiver
