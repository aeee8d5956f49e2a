"""What the pages' rows ask for, in tests."""

import uuid
from typing import Any

from django.test import Client


def state_of(client: Client, kind: str, job_id: uuid.UUID) -> dict[str, Any]:
    """The state of one job, from `states.json`."""
    answer = client.get("/states.json", {kind: job_id.hex}).json()
    state: dict[str, Any] = answer[kind][job_id.hex]
    return state
