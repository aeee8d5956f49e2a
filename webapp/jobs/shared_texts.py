"""Texts that several viewers get: made once, and kept while there is room."""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Kept = TypeVar("Kept")


class SharedTexts(Generic[Kept]):
    """The texts used last, up to a sum of bytes. For several threads."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._texts: OrderedDict[Hashable, tuple[Kept, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Kept | None:
        """The text of that key, if it is kept."""
        with self._lock:
            if key not in self._texts:
                return None
            self._texts.move_to_end(key)
            return self._texts[key][0]

    def keep(self, key: Hashable, text: Kept, size_bytes: int) -> None:
        """Keep it under a new key, and forget those used longest ago. A text beyond the sum is not kept."""
        if size_bytes > self._most_bytes:
            return
        with self._lock:
            _, replaced_bytes = self._texts.pop(key, (None, 0))
            self._texts[key] = text, size_bytes
            self._bytes += size_bytes - replaced_bytes
            while self._bytes > self._most_bytes:
                _, (_, forgotten_bytes) = self._texts.popitem(last=False)
                self._bytes -= forgotten_bytes
