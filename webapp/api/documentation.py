"""The page that shows the operations, from files of this server alone."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from ninja import NinjaAPI
from ninja.openapi.docs import DocsBase


class OwnPage(DocsBase):
    """Swagger UI as ninja brings it, without a script in the page."""

    def render_page(self, request: HttpRequest, api: NinjaAPI, **_ids: Any) -> HttpResponse:
        """The page. Context: address (of the OpenAPI document)."""
        return render(request, "api/documentation.html", {"address": self.get_openapi_url(api, {})})
