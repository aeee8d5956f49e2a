"""`make drain`: the application on a data folder finishes what is running, takes nothing new, and ends."""

import os
import socket
import sys
import time
from pathlib import Path

from webapp.processes import DRAIN_SIGNAL, send
from webapp.supervisor.configuration import Configuration
from webapp.supervisor.data_folder import is_used, marked_process
from webapp.supervisor.failure import StartError
from webapp.supervisor.output import Console

LOOK_EVERY_SECONDS = 1.0
ENDED_BY_CTRL_C = 130


def main() -> int:
    """Send the signal and wait; the exit status: 0 when the application has ended, 1 if none could be asked."""
    try:
        data_folder = Configuration.from_environment().data_folder
        _ask(data_folder)
    except StartError as error:
        print(f"placeto: {error}", file=sys.stderr)
        return 1
    try:
        _show_until_it_ends(data_folder, Console())
    except KeyboardInterrupt:
        return ENDED_BY_CTRL_C
    return 0


def _ask(data_folder: Path) -> None:
    if not is_used(data_folder):
        raise StartError(f"no application runs on the data folder {data_folder}")
    process = marked_process(data_folder)
    if process is None:
        raise StartError(f"the application on the data folder {data_folder} is starting or ending; try again")
    send(process, DRAIN_SIGNAL)


def _show_until_it_ends(data_folder: Path, console: Console) -> None:
    console.say("draining; Ctrl-C ends this command alone, the drain goes on")
    _load_models()
    shown = None
    while is_used(data_folder):
        running = ", ".join(_running_jobs()) or "nothing"
        if running != shown:
            console.say(f"still running: {running}")
            shown = running
        time.sleep(LOOK_EVERY_SECONDS)
    console.say("drained; what is queued waits for the next start")


def _load_models() -> None:
    """Late: the settings write into the data folder."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    django.setup()


def _running_jobs() -> list[str]:
    """The jobs that this machine's workers have."""
    from django.db import DatabaseError

    from webapp.jobs.reaper import job_models
    from webapp.workers.models import Worker

    try:
        workers = list(Worker.objects.filter(host=socket.gethostname()).values_list("identity", flat=True))
        return [
            f"{model._meta.verbose_name} {job}"
            for model in job_models()
            for job in model._default_manager.filter(status=model.WORKING, worker__in=workers)
        ]
    except DatabaseError as error:
        return [f"unknown, since the database does not answer ({error})"]


if __name__ == "__main__":
    sys.exit(main())
