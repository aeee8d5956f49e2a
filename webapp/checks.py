"""System checks: what is wrong with the settings, and how to mend it."""

import os
import shutil
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from webapp.accounts.addresses import trusted_networks
from webapp.accounts_mode import OIDC, PROXY
from webapp.broker_address import LONGEST_SOCKET_PATH_BYTES, socket_path
from webapp.disk_use import LEAST_FREE_BYTES


@register()
def check_data_folder(**_: Any) -> list[CheckMessage]:
    """The data folder can be written and has free space."""
    folder = Path(settings.DATA_FOLDER)
    if not os.access(folder, os.W_OK | os.X_OK):
        return [Error(f"The data folder {folder} cannot be written.", hint="Set PLACETO_DATA.", id="placeto.E001")]
    if shutil.disk_usage(folder).free < LEAST_FREE_BYTES:
        hint = "Make room, or set PLACETO_DATA to a folder on another disk."
        return [Warning(f"Less than 1 GiB is free under {folder}.", hint=hint, id="placeto.W001")]
    return []


@register()
def check_socket_path(**_: Any) -> list[CheckMessage]:
    """The path of the broker's socket is short enough for the system."""
    path = socket_path(settings.CELERY_BROKER_URL)
    if len(path.encode()) <= LONGEST_SOCKET_PATH_BYTES:
        return []
    sentence = f"The path of Redis's socket is longer than {LONGEST_SOCKET_PATH_BYTES} bytes: {path}"
    return [Error(sentence, hint="Set PLACETO_DATA to a shorter path, or REDIS_URL.", id="placeto.E002")]


@register()
def check_secret_key(**_: Any) -> list[CheckMessage]:
    """The secret key cannot be guessed."""
    if len(settings.SECRET_KEY) >= 32 and len(set(settings.SECRET_KEY)) >= 5:
        return []
    hint = "Unset SECRET_KEY: then one is made and kept in the data folder."
    return [Error("SECRET_KEY is too short to be secret.", hint=hint, id="placeto.E003")]


@register()
def check_allowed_hosts(**_: Any) -> list[CheckMessage]:
    """The application answers to names that the operator chose: without accounts a name lets everybody in."""
    if "*" not in settings.ALLOWED_HOSTS:
        return []
    hint = "Name the hosts in ALLOWED_HOSTS."
    return [Warning("ALLOWED_HOSTS lets any name in: DNS rebinding can reach it.", hint=hint, id="placeto.W002")]


@register()
def check_operators(**_: Any) -> list[CheckMessage]:
    """Where others say who comes in, somebody is an operator."""
    if settings.ACCOUNTS not in (PROXY, OIDC) or settings.OPERATORS:
        return []
    hint = "Set PLACETO_OPERATORS."
    return [Warning("Nobody is an operator, who may see and manage everything.", hint=hint, id="placeto.W003")]


@register()
def check_trusted_proxies(**_: Any) -> list[CheckMessage]:
    """Not everybody is a trusted proxy, who can say to be anybody."""
    networks = trusted_networks(tuple(settings.TRUSTED_PROXIES))
    if settings.ACCOUNTS != PROXY or all(network.prefixlen for network in networks):
        return []
    sentence = "PLACETO_TRUSTED_PROXIES trusts every address: whoever reaches this server can say to be anybody."
    return [Error(sentence, hint="Name the addresses of your proxies alone.", id="placeto.E004")]


@register()
def check_provider(**_: Any) -> list[CheckMessage]:
    """An OpenID provider is named completely."""
    given = {
        "PLACETO_OIDC_ADDRESS": settings.OIDC_ADDRESS,
        "PLACETO_OIDC_CLIENT_ID": settings.OIDC_CLIENT_ID,
        "PLACETO_OIDC_CLIENT_SECRET": settings.OIDC_CLIENT_SECRET,
    }
    missing = [name for name, value in given.items() if not value]
    if settings.ACCOUNTS != OIDC or not missing:
        return []
    hint = f"Set {' and '.join(missing)}."
    return [Error("Nobody can log in: the OpenID provider is not named completely.", hint=hint, id="placeto.E005")]
