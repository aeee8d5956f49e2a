"""The environment variables that the client reads: a script of a CI server gets its token by them, not by a file."""

import os

ADDRESS = "PLACETO_URL"
TOKEN = "PLACETO_TOKEN"  # noqa: S105  a name
CONFIGURATION = "XDG_CONFIG_HOME"


def variable(name: str) -> str:
    """The value of one of them; empty where it is not set."""
    return os.environ.get(name, "")
