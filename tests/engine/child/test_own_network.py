"""A child with a network of its own reaches its own servers and nothing else, and nothing reaches them."""

import socket

import pytest

from engine.child import own_network
from engine.child.parent import Limits, Results, child_results
from engine.errors import SettingsError
from engine.events import Json
from tests.own_network import NEEDS_OWN_NETWORK

SMALL = Limits(memory_bytes=512 * 1024**2, seconds=30.0)


def run_networked(function: str, arguments: dict[str, Json]) -> Results:
    with child_results(function, arguments, SMALL, own_network=True) as (results, _):
        return results


@NEEDS_OWN_NETWORK
def test_it_reaches_its_own_servers_alone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        _, texts = run_networked("tests.engine.child.child_functions:network", {"port": server.getsockname()[1]})
    assert texts == {"interfaces": ["lo"], "outside": False, "own": True}


def test_it_is_refused_in_one_line_where_there_can_be_none() -> None:
    with pytest.raises(SettingsError, match=r"^processes: no network namespace can be made here: not permitted; allo"):
        run_networked(own_network.REFUSE, {"reason": "not permitted"})


def test_only_linux_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(OSError, match="only Linux"):
        own_network.enter()
