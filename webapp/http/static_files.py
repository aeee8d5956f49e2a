"""Serves the files of `frontend/`."""

from collections.abc import Iterable, Iterator

from django.contrib.staticfiles.finders import FileSystemFinder
from django.core.files.storage import Storage
from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

_NOT_SERVED = ["node_modules", "package*.json", "tsconfig*.json", "vendor.mjs", "*.d.ts", "*.d.mts", "*.md", ".*"]


class FrontendFinder(FileSystemFinder):
    """Finds the modules, styles and vendored libraries, but not the build files."""

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, Storage]]:
        """Every served file."""
        return iter(super().list([*(ignore_patterns or ()), *_NOT_SERVED]))


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]  # WhiteNoise is untyped
    """WhiteNoise that sends each small file whole: Django cannot stream a file object under ASGI."""

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:
        """The whole file, its range, or "not modified"."""
        found = static_file.get_response(request.method, request.META)
        content = b""
        if found.file is not None:
            with found.file as file:
                content = file.read()
        response = HttpResponse(content, status=int(found.status), headers=dict(found.headers))
        if not content:
            del response.headers["Content-Type"]
        return response
