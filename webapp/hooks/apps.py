"""Webhooks: messages to other programs about what happens in a project."""

from django.apps import AppConfig


class HooksConfig(AppConfig):
    """The app `hooks`."""

    name = "webapp.hooks"
    label = "hooks"
