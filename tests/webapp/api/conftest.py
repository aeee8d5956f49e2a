"""The cast of the API's tests."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from tests.webapp.api.cast import Cast, cast_of
from tests.webapp.plans.conftest import reading_blobs, readings
from webapp.graphs.models import Graph

__all__ = ["cast", "document", "reading_blobs", "readings"]


@pytest.fixture
def cast(real_graph: Graph, release_policy: Path) -> Cast:
    """A row of each kind."""
    return cast_of(real_graph)


@pytest.fixture(scope="session")
def document() -> dict[str, Any]:
    """The OpenAPI document, as it is served."""
    answer = Client().get("/api/v1/openapi.json")
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found
