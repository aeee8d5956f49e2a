"""A supervisor over small stand-ins for the parts: `python -m tests.supervisor.stand_in FOLDER PART...`.

Each PART is a shell command that is ready when it writes READY; a command `once ...` is ready when it has ended.
"""

import os
import sys
from pathlib import Path

from webapp.supervisor.guardian import guard
from webapp.supervisor.parts import Part, WhenDone, WhenItSays
from webapp.supervisor.supervisor import Supervisor


def main(folder: Path, commands: list[str]) -> int:
    """Each command is a stage of its own, named by its place."""
    stages = [
        [
            Part(
                f"part{index}",
                ("/bin/sh", "-c", command.removeprefix("once ")),
                WhenDone() if command.startswith("once ") else WhenItSays("READY"),
            )
        ]
        for index, command in enumerate(commands, 1)
    ]
    supervisor = Supervisor(stages, folder, folder, os.environ)
    return guard(lambda: supervisor.run(lambda: print("all ready", flush=True)))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
