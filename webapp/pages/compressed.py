"""Large answers, compressed for the clients that take it."""

import gzip
import re

from django.http import HttpRequest, HttpResponse

TAKES_GZIP = re.compile(r"\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))")
GZIP_BEGINS = b"\x1f\x8b"


def takes_gzip(request: HttpRequest) -> bool:
    """Whether the client wants compressed answers; browsers do."""
    return TAKES_GZIP.search(request.headers.get("Accept-Encoding", "")) is not None


def compressed(content: bytes) -> bytes:
    """`content` compressed; the same content gives the same bytes."""
    return gzip.compress(content, compresslevel=1, mtime=0)


def answer_of(content: bytes, content_type: str) -> HttpResponse:
    """An answer with `content`, which may be compressed; it must not begin as compressed data does otherwise."""
    response = HttpResponse(content, content_type=content_type, headers={"Vary": "Accept-Encoding"})
    if content.startswith(GZIP_BEGINS):
        response["Content-Encoding"] = "gzip"
    return response


def large_answer(request: HttpRequest, content: bytes, content_type: str) -> HttpResponse:
    """An answer with `content`, compressed if the client takes that."""
    return answer_of(compressed(content) if takes_gzip(request) else content, content_type)
