"""Where the web server listens, and whether it can."""

import socket
from pathlib import Path

import pytest

from webapp.supervisor.configuration import Configuration
from webapp.supervisor.failure import StartError
from webapp.supervisor.web_address import check_free, health_answers


def configuration(host: str, port: int) -> Configuration:
    return Configuration(host, port, Path("/nowhere"), None, None)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("0.0.0.0", "http://127.0.0.1:8000"),
        ("::", "http://[::1]:8000"),
        ("placeto.example.org", "http://placeto.example.org:8000"),
    ],
)
def test_the_address_is_one_that_a_browser_here_can_open(host: str, address: str) -> None:
    assert configuration(host, 8000).shown_address == address


def test_a_host_that_is_none_is_refused() -> None:
    with pytest.raises(StartError, match=r"^cannot listen on port 8000 of HOST no\.such\.host\.invalid: "):
        check_free(configuration("no.such.host.invalid", 8000))


def test_health_is_no_when_nothing_answers_or_something_else_does() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        assert not health_answers(configuration("127.0.0.1", port))
        listener.listen()  # takes connections and says nothing
        assert not health_answers(configuration("127.0.0.1", port))
