"""The process of `readings.py`: `python -m tests.fuzz.reader_process`, with an order on standard input.

It imports the readers only after the recorder has begun, so that the lines that run at their import count.
"""

import importlib
import json
import sys

from tests.fuzz.lines import Recorder
from webapp.processes import die_with_parent


def main() -> None:
    """Carry out the order on standard input."""
    order = json.loads(sys.stdin.buffer.readline())
    die_with_parent(order["parent"])
    recorder = Recorder()
    recorder.start()
    importlib.import_module("tests.fuzz.readings").run(order, recorder)


if __name__ == "__main__":
    main()
