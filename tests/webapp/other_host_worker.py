"""Loaded by a worker of the tests (`--include`), never by the tests: it runs on a host of another name."""

import socket

import pytest

pytest.MonkeyPatch().setattr(socket, "gethostname", lambda: "gpu-1")
