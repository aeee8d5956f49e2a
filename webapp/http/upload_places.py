"""How many large bodies are taken at once: each takes room on the disk, and a thread once it is complete."""

import asyncio

MOST_UPLOADS = 16
"""half of the threads that requests with bodies have, so that the other requests find one"""
LONGEST_WAIT_SECONDS = 20.0
BUSY = "The server takes other uploads. Send the file again in a few seconds."


class UploadPlaces:
    """The places of one server. An upload that waits for one is not read meanwhile."""

    def __init__(self) -> None:
        self._taken = 0
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def wanted(self) -> bool:
        """Whether an upload waits for a place."""
        return bool(self._waiting)

    async def take(self) -> bool:
        """Take a place; False if there is none in time."""
        if self._taken >= MOST_UPLOADS:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await asyncio.wait([turn], timeout=LONGEST_WAIT_SECONDS)
            if turn.done():
                return True  # `give_back` has passed a place on
            self._waiting.remove(turn)
            return False
        self._taken += 1
        return True

    def give_back(self) -> None:
        """Pass the place on to the one that waits the longest."""
        if self._waiting:
            self._waiting.pop(0).set_result(None)
        else:
            self._taken -= 1
