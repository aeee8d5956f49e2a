"""Measures what an idle application costs: `python -m tests.load.idle [--data FOLDER] [--seconds SECONDS]`.

Nobody should use the application meanwhile; its start, with TensorFlow's loading, takes a minute.
"""

import argparse
import sys
import time
from pathlib import Path

from tests.process_facts import command_line
from webapp.processes import descendants
from webapp.supervisor.configuration import ROOT
from webapp.supervisor.data_folder import marked_process

NANOSECONDS = 1e9


def main() -> int:
    """Print each process's share of a core, and that of all together."""
    parser = argparse.ArgumentParser(prog="python -m tests.load.idle", description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT / "data", help="the application's data folder")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to measure (default 60)")
    options = parser.parse_args()
    guardian = marked_process(options.data)
    if guardian is None:
        print(f"no application runs on the data folder {options.data}", file=sys.stderr)
        return 1
    before, begun = cpu_seconds(guardian), time.monotonic()
    time.sleep(options.seconds)
    after, seconds = cpu_seconds(guardian), time.monotonic() - begun
    shares = {process: (used - before.get(process, 0.0)) / seconds for process, used in after.items()}
    for process, share in sorted(shares.items(), key=lambda item: -item[1]):
        words = command_line(process)[:100] or f"{process}, which has ended"
        print(f"{share:7.2%}  {words}")
    print(f"{sum(shares.values()):7.2%} of a core in {len(shares)} processes, over {seconds:.0f} s")
    return 0


def cpu_seconds(ancestor: int) -> dict[int, float]:
    """Process → the processor time of its threads so far, in seconds; `ancestor` and all below it."""
    found = {}
    for process in (ancestor, *descendants(ancestor)):
        times = Path(f"/proc/{process}/task").glob("*/schedstat")
        try:
            found[process] = sum(int(time_of.read_text().split()[0]) for time_of in times) / NANOSECONDS
        except OSError:
            continue  # a thread ended meanwhile
    return found


if __name__ == "__main__":
    sys.exit(main())
