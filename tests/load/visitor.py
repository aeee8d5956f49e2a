"""A few more visitors, in a process of their own, so that the load's own work does not slow the times that they see.

python -m tests.load.visitor ADDRESS PATH...     one JSON line a page: seconds, or the error; until it is stopped
"""

import asyncio
import json
import sys
import time

import aiohttp

VISITORS = 4
REST_SECONDS = 0.1
LONGEST_SECONDS = 60.0
"""for which a visitor waits for a page"""


async def visit(client: aiohttp.ClientSession, address: str, paths: list[str]) -> None:
    """Open one page after the other, without end."""
    while True:
        for path in paths:
            begun = time.perf_counter()
            try:
                async with client.get(address + path) as answer:
                    await answer.read()
                    answer.raise_for_status()
                line: dict[str, object] = {"seconds": time.perf_counter() - begun}
            except (aiohttp.ClientError, TimeoutError) as error:
                line = {"error": f"page: {error or type(error).__name__}"[:60]}
            print(json.dumps(line), flush=True)
            await asyncio.sleep(REST_SECONDS)


async def main(address: str, paths: list[str]) -> None:
    """All visitors, each from another page on."""
    timeout = aiohttp.ClientTimeout(total=LONGEST_SECONDS)
    async with aiohttp.ClientSession(timeout=timeout) as client, asyncio.TaskGroup() as visitors:
        for turn in range(VISITORS):
            first = turn % len(paths)
            visitors.create_task(visit(client, address, paths[first:] + paths[:first]))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2:]))
