"""What a client gets of an answer that is sent in pieces."""

import asyncio
from typing import Any


def content_of(response: Any) -> bytes:
    """The whole body."""

    async def joined() -> bytes:
        return b"".join([piece async for piece in response.streaming_content])

    content = asyncio.run(joined()) if response.streaming else response.content
    assert isinstance(content, bytes)
    assert response.headers.get("Content-Length", str(len(content))) == str(len(content))
    return content
