"""The API: its operations, their description, and their addresses."""

from django.urls import URLPattern, URLResolver
from ninja import NinjaAPI
from ninja.operation import Operation

from engine import api
from webapp.access.marks import open_to_anyone
from webapp.api.description import described
from webapp.api.documentation import OwnPage
from webapp.api.json_bodies import StrictJsonParser
from webapp.api.operations import (
    comparisons,
    graphs,
    here,
    hooks,
    links,
    measuring,
    members,
    plans,
    policies,
    projects,
    runs,
    sessions,
    uploads,
)
from webapp.api.rates import RateAMinute
from webapp.api.refusals import answer_mistakes

WORDS = "Everything that a person can do on the pages. docs/api.md says how a script begins."


class PlacetoApi(NinjaAPI):
    """ninja's, with every answer described."""

    def get_openapi_schema(self, **named: object) -> dict[str, object]:  # type: ignore[override]  # ninja's is a dict
        """The OpenAPI document."""
        return described(super().get_openapi_schema(**named))  # type: ignore[arg-type]

    def get_openapi_operation_id(self, operation: Operation) -> str:
        """The name of its function, which is also that of its address."""
        return operation.view_func.__name__


server = PlacetoApi(
    title="Placeto Explorer",
    version=api.VERSION,
    description=WORDS,
    urls_namespace="api",
    throttle=RateAMinute(),
    parser=StrictJsonParser(),
    docs=OwnPage(),
    docs_decorator=open_to_anyone,
)
answer_mistakes(server)
for module in (
    here,
    projects,
    members,
    uploads,
    graphs,
    runs,
    sessions,
    comparisons,
    plans,
    policies,
    measuring,
    links,
    hooks,
):
    server.add_router("", module.router)

patterns: tuple[list[URLResolver | URLPattern], str, str] = server.urls
"""for `path("api/v1/", …)`"""
