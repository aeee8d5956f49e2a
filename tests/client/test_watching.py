"""News of a job: streams that break, are refused, or end early; pages in their place."""

import json
import re
from typing import Any

import pytest
from placeto.errors import ClientError, ServerError
from placeto.remote.connection import Connection
from placeto.remote.login import Login
from placeto.remote.watching import News, Watch, messages

from tests.client.scripted_server import Answer, Asked, Script, Scripted, scripted

LAST = 9
RUNNING, DONE = {"status": "running", "error": ""}, {"status": "done", "error": ""}
REFUSED = {"error": {"code": "unavailable", "message": "500 streams are open already.", "field": None}}


def events(first: int, last: int) -> list[dict[str, Any]]:
    return [{"seq": seq, "type": "episode", "name": "a\u2028b\x85c"} for seq in range(first, last + 1)]


def message(first: int, last: int) -> bytes:
    data = json.dumps(events(first, last), ensure_ascii=False)
    return f"id: {last}\nevent: events\ndata: {data}\n\n".encode()


def status(state: dict[str, str]) -> bytes:
    return f"event: status\ndata: {json.dumps(state)}\n\n".encode()


def page(asked: Asked, state: dict[str, str], last: int = LAST) -> Answer:
    after, limit = (int(re.search(rf"{name}=(\d+)", asked.path)[1]) for name in ("after", "limit"))  # type: ignore[index]
    found = events(after + 1, min(last, after + limit))
    return Answer(body={"events": found, "last_seq": last, **state})


def watched(script: Script, patience_seconds: float = 60.0) -> tuple[Scripted, list[News], list[float]]:
    waits: list[float] = []
    with scripted(script) as server:
        connection = Connection(Login(server.address, None), sleep=waits.append)
        return server, list(Watch(connection, "/runs/1", patience_seconds)), waits


def numbers(news: list[News]) -> list[int]:
    return [event["seq"] for each in news for event in each.events]


def test_a_stream_is_read_to_its_end() -> None:
    whole = b"retry: 2000\n\n" + status(RUNNING) + message(1, 5) + b": still here\n\n" + message(6, 9) + status(DONE)
    server, news, _ = watched(lambda _asked, _number: Answer(body=whole))
    assert (numbers(news), news[-1].state, len(server.asked)) == (list(range(1, 10)), DONE, 1)
    assert news[1].events[0]["name"] == "a\u2028b\x85c"


@pytest.mark.parametrize(("whole", "more"), [(0, 0), (0, 5), (0, 40), (4, 0), (4, 30), (9, 0)])
def test_a_stream_that_breaks_goes_on_after_the_last_event(whole: int, more: int) -> None:
    """It breaks after so many whole messages and some bytes more."""

    def script(asked: Asked, number: int) -> Answer:
        if "stream" not in asked.path:
            return page(asked, RUNNING, last=0)
        after = int(asked.headers["last-event-id"])
        text = b"".join(message(seq, seq) for seq in range(after + 1, LAST + 1)) + status(DONE)
        cut = sum(len(message(seq, seq)) for seq in range(1, whole + 1)) + more
        return Answer(body=text, lost_after=cut if number == 0 else None)

    server, news, waits = watched(script)
    assert numbers(news) == list(range(1, 10))
    assert [asked.headers["last-event-id"] for asked in server.asked if "stream" in asked.path] == ["0", str(whole)]
    assert len(waits) == 1 and waits[0] >= 2


def test_pages_take_the_place_of_a_stream_that_is_refused() -> None:
    def script(asked: Asked, number: int) -> Answer:
        if "stream" in asked.path:
            return Answer(503, REFUSED)
        return page(asked, DONE if number > 6 else RUNNING, last=number)

    _, news, waits = watched(script)
    assert numbers(news) == list(range(1, numbers(news)[-1] + 1)) and news[-1].has_ended
    assert all(wait >= 2 for wait in waits)


def test_many_events_are_many_pages() -> None:
    def script(asked: Asked, _number: int) -> Answer:
        return Answer(503, REFUSED) if "stream" in asked.path else page(asked, DONE, last=4500)

    server, news, _ = watched(script)
    assert (numbers(news), len(server.asked)) == (list(range(1, 4501)), 4)


def test_a_deleted_job_ends_the_watch() -> None:
    gone = {"status": "deleted", "error": "This run has been deleted."}
    with pytest.raises(ServerError, match="has been deleted") as caught:
        watched(lambda _asked, _number: Answer(body=message(1, 2) + status(gone)))
    assert caught.value.status == 404


def test_a_refusal_that_will_not_pass_ends_the_watch() -> None:
    refusal = {"error": {"code": "forbidden", "message": "No.", "field": None}}
    with pytest.raises(ServerError, match="No"):
        watched(lambda _asked, _number: Answer(403, refusal))


def test_a_server_that_stays_away_ends_the_watch() -> None:
    with pytest.raises(ClientError, match="does not answer"):
        watched(lambda _asked, _number: Answer(lost_after=-1))


def test_a_graph_that_asks_has_no_more_news() -> None:
    _, news, _ = watched(
        lambda _asked, _number: Answer(body=status({"status": "reading"}) + status({"status": "asking"}))
    )
    assert [each.state["status"] for each in news] == ["reading", "asking"]


@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_messages_may_be_cut_anywhere(size: int) -> None:
    first = "retry: 9\r\n\r\nid: 4\r\nevent: events\r\ndata: ä\u2028\r\ndata:b\r\n\r\n"
    text = f"{first}: x\n\ndata\n\nid: x\ndata: c\n\n".encode()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert list(messages(pieces)) == [("events", 4, "ä\u2028\nb"), ("message", 4, ""), ("message", 4, "c")]


def test_a_message_without_its_end_is_none() -> None:
    assert list(messages([b"id: 4\nevent: events\ndata: [1"])) == []
