"""Dockerfile and compose.yaml agree with the sources and with what the supervisor starts."""

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from setup.front_end import NODE_FOLDER
from webapp.jobs.bounded_stop import END_AFTER_SECONDS, KILL_POOL_AFTER_SECONDS
from webapp.supervisor.parts import QUEUES, database_part, web_command, worker_command
from webapp.supervisor.supervisor import END_SECONDS
from webapp.supervisor.web_address import HEALTH_PATH

ROOT = Path(__file__).resolve().parent.parent
WORKERS = tuple(f"worker-{queue}" for queue in QUEUES)


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions: name and the rest, with continued lines joined."""
    text = re.sub(r"^\s*#[^\n]*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = [line.strip() for line in text.replace("\\\n", " ").splitlines() if line.strip()]
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in lines)]


def last(name: str) -> str:
    return [rest for instruction, rest in instructions() if instruction == name][-1]


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    found = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    assert isinstance(found, dict)
    return found


def test_what_the_image_copies_exists_and_is_not_ignored() -> None:
    lets_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    sources = [word for name, rest in instructions() if name == "COPY" for word in shlex.split(rest)[:-1]]
    assert {"engine/", "webapp/", "frontend/", "manage.py"} <= set(sources)
    for source in sources:
        assert (ROOT / source).exists(), source
        assert source.rstrip("/").partition("/")[0] in lets_in, source


def test_the_image_holds_all_that_the_application_imports() -> None:
    copied = {word.rstrip("/") for name, rest in instructions() if name == "COPY" for word in shlex.split(rest)[:-1]}
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests"}
    assert packages <= copied


def test_the_image_installs_with_the_constraints() -> None:
    lines = [" ".join(line) for line in instructions()]
    [installing] = [number for number, line in enumerate(lines) if "python -m setup application" in line]
    assert lines.index("COPY requirements.txt requirements-setup.txt constraints.txt ./") < installing


def test_the_image_is_without_what_only_set_up_starts() -> None:
    [installing] = [rest for name, rest in instructions() if name == "RUN" and "python -m setup application" in rest]
    removed = shlex.split(installing.partition("&& rm -rf")[2])
    assert NODE_FOLDER.partition("/")[0] in removed
    assert "frontend/node_modules" in removed


def test_the_image_holds_compiled_code_of_the_user_who_runs_it() -> None:
    lines = [" ".join(line) for line in instructions()]
    compiling = lines.index("RUN python -m engine compile")
    assert compiling > max(lines.index("COPY engine/ engine/"), lines.index("USER placeto"))


def test_the_image_does_not_run_as_root_and_reports_its_health() -> None:
    assert last("USER") == "placeto"
    names = [name for name, _ in instructions()]
    assert names.index("USER") < names.index("CMD")
    assert f"http://127.0.0.1:8000{HEALTH_PATH}" in last("HEALTHCHECK")
    assert "PLACETO_DATA=/data" in last("ENV")
    assert last("VOLUME") == "/data"


def test_image_and_supervisor_start_the_same_web_server() -> None:
    assert tuple(json.loads(last("CMD"))) == web_command("0.0.0.0", 8000)
    assert last("EXPOSE") == "8000"


@pytest.mark.parametrize("queue", QUEUES)
def test_compose_and_supervisor_start_the_same_workers(services: dict[str, Any], queue: str) -> None:
    assert tuple(services[f"worker-{queue}"]["command"]) == worker_command(queue)


def test_compose_and_supervisor_prepare_the_database_in_the_same_way(services: dict[str, Any]) -> None:
    assert services["database"]["command"][1:] == list(database_part().command[1:])


def test_compose_starts_everything_the_supervisor_does(services: dict[str, Any]) -> None:
    assert set(services) == {"web", "postgres", "redis", "database", *WORKERS}
    for name in ("web", "database", *WORKERS):
        assert services[name]["image"] == "placeto-explorer"
        assert services[name]["environment"].keys() >= {"DATABASE_URL", "REDIS_URL"}
        assert "data:/data" in services[name]["volumes"]


def test_compose_passes_on_what_the_table_of_settings_lists(services: dict[str, Any]) -> None:
    listed = set(re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "docs" / "operations.md").read_text(), flags=re.MULTILINE))
    of_the_image = {"HOST", "PORT", "PLACETO_DATA", "PLACETO_CHROMIUM", "REDIS_SERVER", "PLACETO_WORKER_FILE"}
    of_compose = {"DATABASE_URL", "REDIS_URL", "PLACETO_OPEN_TO_NETWORK"}
    for name in ("web", "database", *WORKERS):
        passed = dict(services[name]["environment"])
        assert passed["PLACETO_OPEN_TO_NETWORK"] == "${PLACETO_OPEN_TO_NETWORK:-yes}", (
            "the port is this machine's alone"
        )
        assert passed.keys() == listed - of_the_image
        assert {each: value for each, value in passed.items() if each not in of_compose} == {
            each: f"${{{each}:-}}" for each in passed.keys() - of_compose
        }


def test_every_lasting_service_is_restarted_and_watched(services: dict[str, Any]) -> None:
    for name, service in services.items():
        if name == "database":
            assert service["restart"] == "no"
        else:
            assert service["restart"] == "unless-stopped"
            assert name == "web" or service["healthcheck"]["test"], name  # the image watches web
            assert service["stop_grace_period"], name


@pytest.mark.parametrize(("seconds_old", "healthy"), [(None, False), (0, True), (300, False)])
def test_a_worker_is_healthy_while_it_touches_its_file(
    services: dict[str, Any], tmp_path: Path, seconds_old: int | None, healthy: bool
) -> None:
    kind, command = services["worker-gpu"]["healthcheck"]["test"]
    assert kind == "CMD-SHELL"
    file = tmp_path / "a worker"
    if seconds_old is not None:
        file.touch()
        os.utime(file, (file.stat().st_mtime - seconds_old,) * 2)
    environment = {**os.environ, "PLACETO_WORKER_FILE": str(file)}
    status = subprocess.run(
        ["/bin/sh", "-c", command.replace("$$", "$")], env=environment, stderr=subprocess.DEVNULL, check=False
    ).returncode
    assert (status == 0) == healthy
    assert "PLACETO_WORKER_FILE=" in last("ENV")


def test_what_is_waited_for_is_there(services: dict[str, Any]) -> None:
    for service in services.values():
        for other, wait in service.get("depends_on", {}).items():
            if wait["condition"] == "service_healthy":
                assert "test" in services[other]["healthcheck"]
            else:
                assert wait["condition"] == "service_completed_successfully"
                assert services[other]["restart"] == "no"


def test_volumes_are_declared_and_only_the_web_is_reachable_from_this_machine_alone(services: dict[str, Any]) -> None:
    declared = set(yaml.safe_load((ROOT / "compose.yaml").read_text())["volumes"])
    used = {volume.partition(":")[0] for service in services.values() for volume in service.get("volumes", [])}
    assert used == declared
    assert {name: service["ports"] for name, service in services.items() if "ports" in service} == {
        "web": ["127.0.0.1:${PORT:-8000}:8000"]
    }


def test_no_image_is_whatever_is_newest(services: dict[str, Any]) -> None:
    images = [last("FROM"), services["postgres"]["image"], services["redis"]["image"]]
    assert all(re.search(r":\d", image) for image in images)


def test_make_knows_its_verbs() -> None:
    for verb in ("run", "test", "lint", "bench"):
        answer = subprocess.run(["make", "--dry-run", verb], cwd=ROOT, capture_output=True, text=True, check=True)
        assert "setup/find-python.sh" in answer.stdout, verb


def unit(name: str) -> configparser.SectionProxy:
    """The section Service of a unit of systemd."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # names keep their case
    parser.read(ROOT / "deploy" / name)
    return parser["Service"]


def test_systemd_starts_what_make_run_and_a_gpu_host_start() -> None:
    assert unit("placeto.service")["ExecStart"] == "/opt/placeto/.venv/bin/python -m webapp.supervisor"
    program, *arguments = worker_command("gpu")
    assert unit("placeto-worker.service")["ExecStart"] == " ".join((f"/opt/placeto/.venv/bin/{program}", *arguments))


@pytest.mark.parametrize(
    ("name", "longest_end_seconds"),
    [("placeto.service", 2 * END_SECONDS), ("placeto-worker.service", KILL_POOL_AFTER_SECONDS + END_AFTER_SECONDS)],
)
def test_systemd_waits_for_the_end_and_restarts_after_a_failure_alone(name: str, longest_end_seconds: float) -> None:
    service = unit(name)
    assert int(service["TimeoutStopSec"]) > longest_end_seconds
    assert service["KillMode"] == "mixed", "the supervisor and the worker end their own processes"
    assert service["Restart"] == "on-failure", "what was drained stays down"


@pytest.mark.parametrize("name", ["placeto.service", "placeto-worker.service"])
def test_systemd_takes_the_units(name: str, tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("this machine has no systemd")
    here = tmp_path / name
    here.write_text((ROOT / "deploy" / name).read_text().replace("/opt/placeto", str(ROOT)))
    answer = subprocess.run([program, "verify", here], capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stderr) == (0, "")
