"""With LOG_FORMAT=json each record is one line of JSON, in the web server and in workers, exceptions included."""

import http.client
import json
import logging
import sys
from logging.config import DictConfigurator
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from tests.supervisor.started import eventually
from tests.webapp.processes import Surroundings, fetch
from webapp import environment
from webapp.logs import JSON, TEXT, logging_settings
from webapp.runs.models import Run
from webapp.supervisor.worker_ready import READY_LINE


def formatted(log_format: str, record: logging.LogRecord) -> str:
    """The record as the handler of that format writes it."""
    settings = logging_settings(log_format, "INFO")
    formatter = DictConfigurator(settings).configure_formatter(settings["formatters"]["record"])
    assert isinstance(formatter, logging.Formatter)
    return formatter.format(record)


def record_of_a_fault() -> logging.LogRecord:
    """A record with an exception, and values that are not JSON."""
    try:
        raise ValueError("two\nlines")
    except ValueError:
        found = sys.exc_info()
    record = logging.LogRecord("webapp.jobs", logging.ERROR, __file__, 1, "job %s\nfailed", ('a "b"',), found)
    record.request = object()
    return record


def test_a_record_is_one_line_of_json() -> None:
    text = formatted(JSON, record_of_a_fault())
    assert "\n" not in text
    values = json.loads(text)
    assert (values["level"], values["logger"], values["message"]) == ("ERROR", "webapp.jobs", 'job a "b"\nfailed')
    assert values["exception"].startswith("Traceback (most recent call last):\n")
    assert values["exception"].endswith("ValueError: two\nlines")
    assert values["time"].endswith("+00:00")


def test_text_is_the_default() -> None:
    record = logging.LogRecord("a.b", logging.INFO, __file__, 1, "well", (), None)
    assert formatted(TEXT, record).endswith(" INFO a.b: well")


def test_another_format_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOG_FORMAT", "xml")
    with pytest.raises(ImproperlyConfigured, match=r"^LOG_FORMAT='xml' is invalid; allowed: one of text, json$"):
        environment.choice("LOG_FORMAT", TEXT, (TEXT, JSON))


@pytest.mark.slow
def test_web_and_workers_write_json_alone(around: Surroundings, run: Run, data_folder: Path) -> None:
    around.environment["LOG_FORMAT"] = "json"
    around.start_redis()
    _, port = around.start_server()
    around.start_worker_as_documented("gpu", "tests.webapp.scripted_worker")
    eventually(lambda: Run.objects.get(id=run.id).status == Run.DONE, "the run is done")
    assert fetch(port, f"/runs/{run.id}/")[0] == 200
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/", headers={"Host": "evil.example"})
    assert connection.getresponse().status == 400
    web, worker = records(data_folder / "web-1.log"), records(data_folder / "gpu-2.log")
    assert f'GET /runs/{run.id}/ HTTP/1.1" 200' in str([record["message"] for record in web])
    assert len([record for record in web if "evil.example" in record["message"]]) == 1
    assert {record["logger"] for record in worker} >= {"celery.worker.strategy", "celery.app.trace"}


def records(log: Path) -> list[dict[str, Any]]:
    """The records in the output of a process, which holds nothing else but the mark that it is ready."""
    return [json.loads(line) for line in log.read_text().splitlines() if line not in ("", READY_LINE)]
