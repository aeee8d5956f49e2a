"""Prints how much longer each page takes with accounts than without, on a database that is there.

    PLACETO_DATA=/somewhere python -m tests.load.accounts_times [--repeats 41] [--only WORDS]

`tests.load.fill` makes such a database. Two web servers answer from it over loopback, one without accounts and one with
passwords, each as the application starts it. Each address is asked of both in turn: without accounts by nobody, with
accounts by the first user, who owns the largest projects; pages with a session, the API with a token. The last column
is the ratio of the medians. A list of all projects is shorter for a user, who sees the own ones.
"""

import argparse
import http.client
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import import_module

import django

from tests.load.page_times import WARM_UP, addresses
from webapp.supervisor.parts import web_command

PATIENCE_SECONDS = 60.0
OFF, LOCAL = "off", "local"


@contextmanager
def web_server(accounts: str) -> Iterator[int]:
    """The port of a web server on the database of PLACETO_DATA."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", *web_command("127.0.0.1", port)],
        env={**os.environ, "PLACETO_ACCOUNTS": accounts},
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(port, process)
        yield port
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("the web server does not start") from None
            time.sleep(0.1)
        else:
            return


def milliseconds_of(connection: http.client.HTTPConnection, address: str, headers: Mapping[str, str]) -> float:
    """From the request to the last byte of its answer."""
    began = time.perf_counter()
    connection.request("GET", address, headers=dict(headers))
    response = connection.getresponse()
    response.read()
    if response.status != http.HTTPStatus.OK:
        raise SystemExit(f"{address} is answered with {response.status}")
    return 1000 * (time.perf_counter() - began)


@contextmanager
def credentials() -> Iterator[dict[str, str]]:
    """The headers by which the first user is known to pages and to the API, for the time of the block."""
    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY

    from webapp.accounts.models import ApiToken, User

    user = User.objects.order_by("date_joined", "username").first()
    if user is None:
        raise SystemExit("this database has no users: tests.load.fill makes some")
    session = import_module(settings.SESSION_ENGINE).SessionStore()
    session[SESSION_KEY], session[HASH_SESSION_KEY] = str(user.pk), user.get_session_auth_hash()
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[-1]
    session.create()
    row, token = ApiToken.make(user, "page times", "read")
    try:
        yield {
            "Cookie": f"{settings.SESSION_COOKIE_NAME}={session.session_key}",
            "Authorization": f"Bearer {token}",
        }
    finally:
        row.delete()
        session.delete()


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=41)
    parser.add_argument("--only", default="", help="of the names of what is measured")
    asked = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    django.setup()
    with ExitStack() as stack:
        headers = {OFF: {}, LOCAL: stack.enter_context(credentials())}
        connections = {
            mode: http.client.HTTPConnection("127.0.0.1", stack.enter_context(web_server(mode))) for mode in headers
        }
        print("| what | without accounts, median ms | with, median ms | ratio |\n|---|---|---|---|")
        measured = {name: address for name, address in addresses().items() if asked.only in name}
        for name, address in measured.items():
            times: dict[str, list[float]] = {mode: [] for mode in headers}
            for repeat in range(asked.repeats + WARM_UP):
                for mode, connection in connections.items():
                    spent = milliseconds_of(connection, address, headers[mode])
                    if repeat >= WARM_UP:
                        times[mode].append(spent)
            off, local = (statistics.median(times[mode]) for mode in (OFF, LOCAL))
            print(f"| {name} | {off:.1f} | {local:.1f} | {local / off:.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
