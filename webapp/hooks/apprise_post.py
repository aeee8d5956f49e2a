"""Messages by Apprise, which knows a hundred services by an address each: mail, chats, phones. It is optional."""

import logging
import unicodedata
from types import ModuleType
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.conf import settings

from engine import api
from webapp.hooks.connection_guard import guarded
from webapp.hooks.http_post import LONGEST_SECONDS, NotTakenError
from webapp.hooks.web_address import LONGEST_TARGET

NOT_INSTALLED = "Apprise is not installed on this server: `pip install apprise` in its environment adds it"
REFUSED_OPTIONS = ("verify", "redirect", "rto", "cto", "retry", "wait", "template")
"""which would switch off the check of certificates, follow redirects, or take longer than we wait"""
LONGEST_TITLE = 120
LONGEST_TEXT = 1000


def require_apprise_target(text: str) -> None:
    """Raise SettingsError, without the text, unless a message can be sent to it."""
    if len(text) > LONGEST_TARGET or not text.isprintable() or any(character.isspace() for character in text):
        raise _refused("blanks, control characters, or too long an address", f"at most {LONGEST_TARGET:,} characters")
    scheme = scheme_of(text)
    if scheme not in settings.HOOKS_APPRISE:
        raise _refused(f"the service {api.shortened(scheme or 'without a name', 40)}", _schemes())
    options = sorted(set(REFUSED_OPTIONS) & {name.lower().lstrip("+-:") for name in _options_of(text)})
    if options:
        raise _refused(f"the option {options[0]}", "the address without it")
    if _service(text) is None:
        raise _refused(f"this is no address of {scheme}", "what Apprise's documentation says of the service")


def scheme_of(text: str) -> str:
    """`slack` of `slack://…`; empty without one."""
    return text.partition("://")[0].lower() if "://" in text else ""


def send_message(target: str, title: str, text: str) -> None:
    """Send it. Raises NotTakenError, and SettingsError where the target is not allowed any more."""
    require_apprise_target(target)
    apprise = _apprise()
    messenger = apprise.Apprise(asset=_asset())
    messenger.add(_service(target))
    with guarded() as guard:
        taken = messenger.notify(
            title=one_line(title, LONGEST_TITLE), body=plain(text, LONGEST_TEXT), body_format=apprise.NotifyFormat.TEXT
        )
    if guard.refused:
        raise NotTakenError(guard.refused, is_final=True)
    if not taken:
        raise NotTakenError("The service did not take the message: it refused it, or cannot be reached.")


def one_line(text: str, longest: int) -> str:
    """`text` as one line without control characters: nothing in it can begin a header or a second line."""
    return api.shortened(" ".join("".join(map(_harmless, text)).split()), longest)


def plain(text: str, longest: int) -> str:
    """The same line by line."""
    return "\n".join(one_line(line, longest) for line in text.split("\n"))[:longest]


_LOOK_ALIKES = {"@": "\N{FULLWIDTH COMMERCIAL AT}", "<": "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}"}
"""of characters by which a name in a chat would call everybody, or become markup"""


def _harmless(character: str) -> str:
    """A blank in place of a character that is not shown, such as a control character or one that turns text round."""
    if unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs", "Zl", "Zp"):
        return " "
    return _LOOK_ALIKES.get(character, character)


def _apprise() -> ModuleType:
    """The library, loaded when it is first used. Raises SettingsError if it is not installed."""
    try:
        import apprise
    except ImportError:
        raise api.SettingsError(NOT_INSTALLED, field="kind") from None
    logging.getLogger("apprise").setLevel(logging.CRITICAL)  # its lines hold parts of addresses, which are secret
    return apprise


def _asset() -> Any:
    asset = _apprise().AppriseAsset(
        async_mode=False, storage_mode="memory", secure_logging=True, service_timeout=LONGEST_SECONDS
    )
    asset.http_redirects = False
    return asset


def _service(text: str) -> Any:
    """Apprise's object for the address; None for one that it does not understand."""
    return _apprise().Apprise.instantiate(text, asset=_asset(), suppress_exceptions=True)


def _options_of(text: str) -> list[str]:
    try:
        return list(parse_qs(urlsplit(text).query, keep_blank_values=True))
    except ValueError:
        return []


def _schemes() -> str:
    return ", ".join(sorted(settings.HOOKS_APPRISE)) or "none: PLACETO_HOOKS_APPRISE is empty"


def _refused(what: str, allowed: str) -> api.SettingsError:
    return api.SettingsError(what, allowed=allowed, field="target")
