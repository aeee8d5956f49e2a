"""A supervisor over small stand-ins for the parts: `python -m tests.supervisor.stand_in FOLDER PART...`.

Each PART is a shell command that is ready when it writes READY; a command `once ...` is ready when it has ended, and a
command `work ...` can be drained and never rests: it hangs if it does nothing for 2 s. A part that dies is started
again after 0.1 s at first.
"""

import os
import sys
from functools import partial
from pathlib import Path

from webapp.incidents import note_incident
from webapp.supervisor import restarts
from webapp.supervisor import supervisor as supervising
from webapp.supervisor.guardian import guard
from webapp.supervisor.parts import Part, WhenDone, WhenItSays
from webapp.supervisor.supervisor import Supervisor


def main(folder: Path, commands: list[str]) -> int:
    """Each command is a stage of its own, named by its place."""
    restarts.FIRST_WAIT_SECONDS = 0.1
    supervising.LOOK_EVERY_SECONDS, supervising.HANGS_AFTER_SECONDS = 0.5, 2.0
    stages = [[_part(f"part{index}", command)] for index, command in enumerate(commands, 1)]
    supervisor = Supervisor(stages, folder, folder, os.environ, partial(note_incident, folder))
    return guard(lambda: supervisor.run(lambda: print("all ready", flush=True)))


def _part(name: str, command: str) -> Part:
    once, work = command.startswith("once "), command.startswith("work ")
    script = command.partition(" ")[2] if once or work else command
    readiness = WhenDone() if once else WhenItSays("READY")
    return Part(name, ("/bin/sh", "-c", script), readiness, drains=work, never_rests=work)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
