"""Measures the application under load: `python -m tests.load --help`."""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from tests.load.application import Application, WebProcesses, running, started
from tests.load.figures import Figures, Times, table
from tests.load.loads import EVENTS, LOADS, Visit, csrf_token
from tests.webapp.graph_files import node_link

ROOT = Path(__file__).resolve().parent.parent.parent
SAMPLE_SECONDS = 0.1
READING_SECONDS = 180.0


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.load",
        description="Measure a running application under load, or one that is started from each --checkout. "
        "All loads end by themselves and go to this machine alone.",
    )
    parser.add_argument("--port", type=int, default=8140, help="of the application (default 8140)")
    parser.add_argument(
        "--checkout",
        type=Path,
        action="append",
        metavar="DIR",
        help="start the application of this checkout with a data folder of its own; several: one after the other",
    )
    parser.add_argument("--only", action="append", choices=LOADS, help="this load; several: in this order")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the clients of each load (default 1)")
    parser.add_argument("--rest", type=float, default=60.0, help="seconds until memory is read again (default 60)")
    parser.add_argument("--out", type=Path, help="also write the figures to this JSON file")
    return parser.parse_args()


async def measured(name: str, visit: Visit, scale: float, rest_seconds: float) -> Figures:
    """One load and a rest, with the memory of the web process."""
    load, count, words = LOADS[name]
    count = max(1, round(count * scale))
    web = WebProcesses.of_port(visit.port)
    figures = Figures(f"{count} {words}", Times(), Times(), memory_before_bytes=web.resident_bytes())
    visit.notes = figures.notes
    async with _visitors(visit, figures.pages):
        watching = asyncio.create_task(_watch(web, figures))
        cpu, begun = web.cpu_seconds(), time.perf_counter()
        try:
            await load(visit, figures.own, count)
        finally:
            watching.cancel()
        figures.seconds = time.perf_counter() - begun
        figures.cpu_seconds = web.cpu_seconds() - cpu
    await asyncio.sleep(rest_seconds)
    figures.memory_after_bytes = web.resident_bytes()
    return figures


async def _watch(web: WebProcesses, figures: Figures) -> None:
    while True:
        figures.memory_peak_bytes = max(figures.memory_peak_bytes, web.resident_bytes())
        figures.threads_peak = max(figures.threads_peak, web.threads())
        await asyncio.sleep(SAMPLE_SECONDS)


@asynccontextmanager
async def _visitors(visit: Visit, times: Times) -> AsyncIterator[None]:
    """A few more visitors, until the context ends."""
    paths = ("/", visit.project, visit.graph, visit.run)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.load.visitor", visit.address, *paths),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    await process.stdout.readline()  # it has begun
    lines = asyncio.create_task(process.stdout.read())
    try:
        yield
    finally:
        process.terminate()
        for line in (await lines).decode().splitlines():
            answer = json.loads(line)
            if "seconds" in answer:
                times.seconds.append(answer["seconds"])
            else:
                times.failed(answer["error"])
        await process.wait()


async def prepared(client: aiohttp.ClientSession, application: Application) -> Visit:
    """A project with a graph and a run of 20,000 events, made through the pages; further events are rows."""
    address = application.address

    async def post(path: str, files: dict[str, bytes] | None = None, **fields: str) -> str:
        async with client.get(address + "/") as answer:
            token = csrf_token(await answer.text())
        form = aiohttp.FormData({"csrfmiddlewaretoken": token, **fields})
        for name, content in (files or {}).items():
            form.add_field("file", content, filename=name)
        async with client.post(address + path, data=form, allow_redirects=False) as answer:
            if answer.status != 302:
                raise RuntimeError(f"{path} answered {answer.status}")
            return answer.headers["Location"]

    async def wait_until(path: str, *statuses: str) -> None:
        deadline = time.monotonic() + READING_SECONDS
        while True:
            async with client.get(address + path) as answer:
                status = (await answer.json())["status"]
            if status in statuses:
                return
            if status == "failed" or time.monotonic() > deadline:
                raise RuntimeError(f"{path} is {status}")
            await asyncio.sleep(0.5)

    project = await post("/projects/", name="load")
    graph = await post(f"{project}graphs/", {"load.json": node_link(38)})
    await wait_until(f"{graph}status.json", "ready")
    run = await post(f"{graph}runs/", cluster="2xK80", method="random", evaluations="200", seed="1")
    await wait_until(f"{run}run.json", "done")
    await asyncio.to_thread(application.ask_script, "lengthen", run.split("/")[2], str(EVENTS))

    def follow(seconds: float) -> str:
        output = application.script("follow", run.split("/")[2], str(seconds)).stdout
        assert output is not None
        return f"/runs/{output.readline().strip()}/"

    return Visit(client, address, application.port, project, graph, run, follow)


async def measure(
    application: Application, names: list[str], scale: float, rest_seconds: float
) -> list[dict[str, Any]]:
    """The figures of these loads."""
    rows = []
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        cookie_jar=aiohttp.CookieJar(unsafe=True),  # of an IP address
        timeout=aiohttp.ClientTimeout(total=None),
        read_bufsize=2**18,
    ) as client:
        visit = await prepared(client, application)
        for name in names:
            rows.append((await measured(name, visit, scale, rest_seconds)).to_json())
            print(table(rows[-1:]).splitlines()[-1], flush=True)
    return rows


def main() -> None:
    """Measure, print the table, and write the file."""
    options = arguments()
    names = options.only or list(LOADS)
    results = {}
    for checkout in options.checkout or [None]:
        with ExitStack() as stack:
            if checkout is None:
                application = running(ROOT, options.port)
            else:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="placeto-load-")))
                application = stack.enter_context(started(checkout.resolve(), options.port, folder))
            results[str(checkout or ROOT)] = asyncio.run(measure(application, names, options.scale, options.rest))
    for name, rows in results.items():
        print(f"\n{name}\n\n{table(rows)}")
    if options.out:
        options.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
