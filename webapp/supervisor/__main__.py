"""`python -m webapp.supervisor`: run the whole application on this machine."""

import argparse
import os
import signal
import sys
from functools import partial

from webapp.incidents import note_incident
from webapp.processes import die_with_parent
from webapp.supervisor.configuration import ROOT, Configuration
from webapp.supervisor.data_folder import DataFolder
from webapp.supervisor.external_redis import check_redis
from webapp.supervisor.failure import StartError
from webapp.supervisor.guardian import guard
from webapp.supervisor.output import Console
from webapp.supervisor.parts import database_part, web_part, worker_parts
from webapp.supervisor.redis_server import EmbeddedRedis, find_redis_program
from webapp.supervisor.supervisor import Supervisor
from webapp.supervisor.web_address import check_free, health_answers


def main() -> int:
    """Run until stopped; the exit status: 0 after a requested stop, else 1, with the reason on one line."""
    parser = argparse.ArgumentParser(prog="python -m webapp.supervisor", description="Run the whole application.")
    parser.add_argument("--end-with-parent", action="store_true", help="stop when the process that started this ends")
    if parser.parse_args().end_with_parent:
        die_with_parent(os.getppid(), signal.SIGTERM)
    os.umask(0o077)  # logs and all that the parts write are their owner's alone
    console = Console()
    try:
        configuration = Configuration.from_environment()
        data_folder = DataFolder(configuration.data_folder, console.say)
        check_free(configuration)
        redis = None
        if configuration.redis_url is not None:
            check_redis(configuration.redis_url)
        else:
            redis = EmbeddedRedis(find_redis_program(configuration.redis_server), configuration.data_folder)
    except StartError as error:
        print(f"placeto: {error}", file=sys.stderr)
        return 1
    if redis is not None and redis.moved:
        console.say(f"the path of the data folder is too long for a socket: Redis listens on {redis.socket}")
    try:
        return guard(partial(supervise, configuration, data_folder, redis, console))
    finally:
        data_folder.unmark()
        if redis is not None:
            redis.clean_up()


def supervise(
    configuration: Configuration, data_folder: DataFolder, redis: EmbeddedRedis | None, console: Console
) -> int:
    """Start and supervise all parts with one environment. Runs in the guardian's child."""
    environment = {
        **os.environ,
        "PLACETO_DATA": str(configuration.data_folder),
        "REDIS_URL": redis.url if redis else configuration.redis_url or "",
        "PYTHONUNBUFFERED": "1",
    }
    if data_folder.tightened:
        console.say(f"{data_folder.tightened} files and folders of {data_folder.path} are now readable by you alone")
    web = web_part(configuration, partial(health_answers, configuration))
    stages = [[*([redis.part()] if redis else []), database_part()], [web, *worker_parts()]]
    note = partial(note_incident, data_folder.path)
    supervisor = Supervisor(stages, ROOT, data_folder.logs, environment, note)
    console.say(f"starting; data and logs are in {configuration.data_folder}")
    data_folder.mark(os.getppid())
    return supervisor.run(
        lambda: console.say(f"ready at {configuration.shown_address}  (Ctrl-C stops it)"), data_folder.unmark
    )


if __name__ == "__main__":
    sys.exit(main())
