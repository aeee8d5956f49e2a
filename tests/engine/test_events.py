"""Events as JSON and back."""

import json

import pytest

from engine.events import Baseline, Episode, Event, Finished, NumberedEvent, Progress, Started

EVENTS: list[Event] = [
    Started("placeto", {"preset": "fast"}, 0, 100, 3, ["/device:GPU:0"], 1.5, "0.2.0"),
    Baseline("single_device", 3.0, None, 1, "", [0, 0, 0], [5, 0], 0.25),
    Episode(1, 2.0, True, 2.0, 1, 0.5, [0, 1, 0]),
    Progress("costing", 1, 0),
    Finished({"step_time_us": 2.0, "device_of_group": [0, 1, 0]}),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.type)
def test_an_event_is_read_as_it_was_written(event: Event) -> None:
    numbered = NumberedEvent(7, event)
    assert NumberedEvent.from_json(json.loads(json.dumps(numbered.to_json()))) == numbered


@pytest.mark.parametrize("change", [{"version": 2}, {"type": "other"}, {"more": 1}])
def test_what_no_event_of_this_version_is_raises(change: dict[str, object]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        NumberedEvent.from_json(NumberedEvent(1, EVENTS[3]).to_json() | change)
