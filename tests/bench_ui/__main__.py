"""Measures the pages in headless Chromium: `python -m tests.bench_ui --help`."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Error

from tests.bench_ui.browser import launched, visited
from tests.bench_ui.cases import CASES, Case
from tests.bench_ui.figures import Figures, missed, table
from tests.load.application import started
from tests.supervisor.started import free_port

ROOT = Path(__file__).resolve().parent.parent.parent
SETTLING_SECONDS = 8.0
"""after the start, until the workers have loaded what they need"""


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench_ui",
        description="Start the application on a scratch folder of stored graphs and runs, and measure its pages in "
        "headless Chromium. One page is open at a time; the command ends by itself.",
    )
    parser.add_argument("--only", action="append", choices=CASES, help="this page; several: each")
    parser.add_argument("--repeats", type=int, default=3, help="of each page, in a new context (default 3)")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each gesture (default 2)")
    parser.add_argument("--minutes", type=float, default=20.0, help="after which no page is begun (default 20)")
    parser.add_argument("--out", type=Path, help="also write the figures to this JSON file")
    return parser.parse_args()


def stored(folder: Path, names: list[str]) -> dict[str, dict[str, str]]:
    """Fill a database in `folder` with the graphs of these names; their addresses."""
    environment = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
    only = [word for name in names for word in ("--only", name)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench_ui.material", *only],
        cwd=ROOT,
        env={**environment, "PLACETO_DATA": str(folder)},
        stdout=subprocess.PIPE,
        check=True,
    )
    addresses: dict[str, dict[str, str]] = json.loads(done.stdout.splitlines()[-1])
    return addresses


def measured(browser: Browser, name: str, address: str, repeats: int, seconds: float) -> Figures:
    """The figures of one page."""
    case = CASES[name]
    figures = Figures(name, case.goal)
    for _ in range(repeats):
        try:
            _measure_once(browser, case, address, seconds, figures)
        except (Error, AssertionError) as error:
            figures.fault = str(error).splitlines()[0]
            break
    return figures


def _measure_once(browser: Browser, case: Case, address: str, seconds: float, figures: Figures) -> None:
    with visited(browser, address, case.drawn, case.patience_seconds) as visit:
        figures.open_ms.append(visit.open_ms)
        figures.heap_bytes.append(visit.heap_bytes())
        for gesture, (act, place) in case.gestures.items():
            figures.motions.setdefault(gesture, []).append(visit.motion(act, place, seconds))


def measure(options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """The rows of all pages that are asked for, the empty page first."""
    chosen = ["empty page", *(name for name in CASES if name != "empty page" and name in (options.only or CASES))]
    addresses = stored(folder, sorted({CASES[name].material for name in chosen} - {""}))
    rows, deadline = [], time.monotonic() + 60 * options.minutes
    with started(ROOT, free_port(), folder) as application, launched() as browser:
        time.sleep(SETTLING_SECONDS)
        for name in chosen:
            case = CASES[name]
            if time.monotonic() > deadline:
                figures = Figures(name, case.goal, fault=f"not begun after {options.minutes:g} minutes")
            else:
                path = addresses[case.material][case.page] + case.query if case.material else "/"
                figures = measured(browser, name, application.address + path, options.repeats, options.seconds)
            rows.append(figures.to_json())
            print(f"{name}: {os.getloadavg()[0]:.1f} processes at work", file=sys.stderr, flush=True)
    return rows


def main() -> int:
    """Measure, print the table and what misses a goal, and write the file."""
    options = arguments()
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="placeto-bench-ui-") as folder:
        rows = measure(options, Path(folder))
    misses = [words for row in rows for words in missed(row)]
    print(table(rows))
    print("\n".join([f"Misses: {words}" for words in misses] or ["Every goal is reached."]))
    machine = {"cores": os.cpu_count(), "processes_at_work_before": load_before}
    figures = json.dumps({"machine": machine, "pages": rows, "misses": misses}, indent=1)
    if options.out:
        options.out.write_text(figures + "\n")
    else:
        print(f"\n{figures}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
