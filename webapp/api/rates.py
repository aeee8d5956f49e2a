"""How often somebody may ask: each token, user or address so many times a minute, counted in this process's memory."""

import threading

from django.conf import settings
from django.core.cache.backends.locmem import LocMemCache
from django.http import HttpRequest
from ninja.throttling import SimpleRateThrottle

from webapp.api.callers import caller_of

MINUTE_SECONDS = 60
MOST_CALLERS = 10_000
"""whose requests are counted at a time; beyond, some are forgotten"""


class RateAMinute(SimpleRateThrottle):
    """ninja's, with a rate that the settings say, and for several threads: it keeps its last request in itself."""

    cache = LocMemCache("rates of the API", {"OPTIONS": {"MAX_ENTRIES": MOST_CALLERS}})

    def __init__(self) -> None:
        super().__init__("1/m")  # until a request is looked at
        self._lock = threading.Lock()
        self._waits = threading.local()

    def get_cache_key(self, request: HttpRequest) -> str | None:
        """Whose requests are counted together; None where nothing is counted."""
        return f"api-{caller_of(request)}" if settings.API_REQUESTS_PER_MINUTE else None

    def allow_request(self, request: HttpRequest) -> bool:
        """Count it; False for one too many."""
        with self._lock:
            self.num_requests, self.duration = settings.API_REQUESTS_PER_MINUTE, MINUTE_SECONDS
            allowed = super().allow_request(request)
            self._waits.seconds = None if allowed else super().wait() or MINUTE_SECONDS
        return allowed

    def wait(self) -> float | None:
        """After how many seconds this thread's last request may come again."""
        return getattr(self._waits, "seconds", None)
