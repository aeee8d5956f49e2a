"""Which events of a job a browser asks for."""

from django.http import HttpRequest

from engine import api

MOST_EVENTS_A_PAGE = 2000
LARGEST_SEQ = 2**63 - 1


def asked_events(request: HttpRequest) -> tuple[int, int]:
    """After which number (`?after=`), and how many at most (`?limit=`). Raises SettingsError, a 4xx answer."""
    after = whole_number("after", request.GET.get("after", "0"), lowest=0, highest=LARGEST_SEQ)
    return after, whole_number("limit", request.GET.get("limit", "500"), lowest=1, highest=MOST_EVENTS_A_PAGE)


def seen_events(request: HttpRequest) -> int:
    """After which number a stream begins: `Last-Event-ID`, else `?after=`. Raises SettingsError, a 4xx answer."""
    text = request.headers.get("Last-Event-ID") or request.GET.get("after", "0")
    return whole_number("after", text, lowest=0, highest=LARGEST_SEQ)


def whole_number(name: str, text: str, *, lowest: int, highest: int) -> int:
    """A number of the address. Raises SettingsError, which becomes a 4xx answer."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(highest)) else -1
    if not lowest <= number <= highest:
        raise api.SettingsError(
            f"{text[:40]!r}", where=name, allowed=f"an integer from {lowest} to {highest}", field=name
        )
    return number
