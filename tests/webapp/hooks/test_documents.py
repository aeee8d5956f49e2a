"""What docs/webhooks.md and docs/formats/webhooks.md say is true of what is sent."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from tests.json_schema import faults
from tests.webapp.hooks.deliveries import ended, look_and_send
from tests.webapp.hooks.receiver import Got, Receiver
from tests.webapp.run_rows import compared
from tests.webapp.scripted_engine import CLUSTER
from webapp.graphs.models import Graph
from webapp.hooks import lifecycle
from webapp.hooks.events import EVENTS, TEST
from webapp.hooks.models import Webhook
from webapp.hooks.sending import WAITS
from webapp.hooks.signing import secret_of
from webapp.plans.models import PlanSearch
from webapp.runs.models import Run

pytestmark = pytest.mark.usefixtures("transactional_db")

DOCUMENTS = Path(__file__).parents[3] / "docs"
FORMAT = (DOCUMENTS / "formats" / "webhooks.md").read_text()
SCHEMA: dict[str, Any] = json.loads((DOCUMENTS / "formats" / "webhooks.schema.json").read_text())
PAGE = (DOCUMENTS / "webhooks.md").read_text()


def code() -> Any:
    """The function of the document."""
    [text] = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(text, names)
    return names["is_genuine"]


@pytest.fixture
def got(hook: Webhook, receiver: Receiver) -> Got:
    """A request as it came."""
    lifecycle.send_test(hook)
    look_and_send()
    return receiver.got[0]


def test_the_function_takes_what_is_sent(hook: Webhook, got: Got) -> None:
    assert code()(secret_of(hook), got.headers, got.body)


def test_it_refuses_what_is_not_ours(hook: Webhook, got: Got) -> None:
    genuine, secret = code(), secret_of(hook)
    assert not genuine(secret, got.headers, got.body + b" ")
    assert not genuine(secret + "x", got.headers, got.body)
    assert not genuine(secret, got.headers | {"X-Placeto-Signature-256": "sha256=é"}, got.body)
    for timestamp in (str(int(time.time()) - 301), "x", "", "١٢٣"):
        assert not genuine(secret, got.headers | {"X-Placeto-Timestamp": timestamp}, got.body)


def test_what_is_sent_fits_the_schema(hook: Webhook, receiver: Receiver, ready_graph: Graph, run: Run) -> None:
    ended(run, Run.DONE, best_step_time_us=2.5)
    compared(ready_graph, seeds=1)
    for member in Run.objects.filter(compared__isnull=False):
        ended(member, Run.DONE)
    columns: dict[str, Any] = {"cluster": CLUSTER, "batch": 2, "seconds": 1.0, "plan_rules": {}}
    ended(PlanSearch.objects.create(graph=ready_graph, **columns), PlanSearch.FAILED)
    lifecycle.send_test(hook)
    look_and_send()
    bodies = [json.loads(each.body) for each in receiver.got]
    assert {body["event"] for body in bodies} >= {"run.finished", "comparison.finished", "plan.failed", "test"}
    assert {body["event"]: [*faults(body, SCHEMA, SCHEMA)] for body in bodies} == {body["event"]: [] for body in bodies}


def test_the_example_fits_the_schema_and_a_wrong_one_does_not() -> None:
    [text] = re.findall(r"^```json\n(.*?)^```$", FORMAT, flags=re.MULTILINE | re.DOTALL)
    example = json.loads(text)
    assert [*faults(example, SCHEMA, SCHEMA)] == []
    assert [*faults(example | {"event": "plan.finished"}, SCHEMA, SCHEMA)] != []


def test_each_event_is_documented() -> None:
    documented = re.findall(r"`([a-z]+\.[a-z_]+|test)`", FORMAT[FORMAT.index("| event |") : FORMAT.index("| header |")])
    assert sorted(set(documented)) == sorted([*EVENTS, TEST])


def test_the_waits_are_documented() -> None:
    assert [wait.total_seconds() / 60 for wait in WAITS] == [1, 5, 30, 120, 360]
    assert "tried again after 1, 5 and 30 minutes, 2 and 6 hours" in " ".join(PAGE.split())
