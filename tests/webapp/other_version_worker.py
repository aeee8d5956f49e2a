"""Loaded by a worker of the tests (`--include`), never by the tests: its code claims to be of another version."""

import pytest

from engine import api

pytest.MonkeyPatch().setattr(api, "VERSION", "9.9.9")
