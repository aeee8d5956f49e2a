"""The app `accounts`."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Users, tokens, limits and the log; notes log-ins in the log."""

    name = "webapp.accounts"
    label = "accounts"

    def ready(self) -> None:
        from webapp.accounts import sign_ins  # noqa: F401  connects its receivers
