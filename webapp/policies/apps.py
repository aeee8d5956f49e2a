"""Policies: trained here, uploaded, or built with the release; reusable on other graphs."""

from django.apps import AppConfig


class PoliciesConfig(AppConfig):
    """The app `policies`."""

    name = "webapp.policies"
    label = "policies"
