"""The set-up of a checkout: what it finds, what it repeats, and its errors."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from setup import compiled_engine
from setup.__main__ import ROOT
from setup.browser import Browser
from setup.commands import run
from setup.compiled_engine import CompiledEngine
from setup.failure import SetupError, explain
from setup.front_end import FrontEnd
from setup.python_packages import APPLICATION, TESTS, PythonPackages
from setup.stamps import Stamp, digest


def put_script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("ERROR: No matching distribution found for x==1\n", "pip failed: No matching distribution found for x==1"),
        (
            "WARNING: Retrying, connection broken by 'NewConnectionError'\nERROR: No matching distribution found\n",
            "pip: no connection to the package registry: is there a network?",
        ),
        ("npm error code EAI_AGAIN\n", "pip: no connection to the package registry: is there a network?"),
        ("OSError: [Errno 28] No space left on device\n", "pip: the disk is full"),
        (
            "npm error code E1\nnpm error request failed, reason: x\nnpm error A complete log of this run is in: y\n",
            "pip failed: request failed, reason: x",
        ),
        ("what\n", "pip failed: it gives no reason"),
    ],
)
def test_a_tool_that_fails_is_explained_in_one_line(output: str, reason: str) -> None:
    line = explain("pip", output, "the.log")
    assert line.startswith(reason)
    assert line.lower().endswith("all of its output: the.log")
    assert "\n" not in line


def test_the_last_line_is_the_reason_of_what_is_ours() -> None:
    output = 'File "errors.py", line 9\n    def broken(:\n               ^\nSyntaxError: invalid syntax\n\n'
    assert explain("python -m engine compile", output, "the.log") == (
        "python -m engine compile failed: SyntaxError: invalid syntax; all of its output: the.log"
    )


def test_a_tools_output_is_kept_and_what_matters_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "tool.log"
    tool = put_script(tmp_path / "tool", "echo shown; echo hidden >&2; echo 'ERROR: odd'; exit 1")
    with pytest.raises(SetupError, match=r"^tool failed: odd; all of its output: "):
        run("tool", [str(tool)], log, shows=lambda line: line == "shown")
    assert capsys.readouterr().out == "set-up: shown\n"
    assert "hidden" in log.read_text()


def test_a_tool_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"^tool cannot be started: No such file or directory \(/no/such/tool\)$"):
        run("tool", ["/no/such/tool"], tmp_path / "tool.log")


def test_a_stamp_holds_until_an_input_changes(tmp_path: Path) -> None:
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("numpy")
    stamp = Stamp(tmp_path / "stamps" / "requirements", digest([requirements], "x86_64"))
    assert not stamp.holds()
    stamp.set()
    assert stamp.holds()
    assert not Stamp(tmp_path / "stamps" / "requirements", digest([requirements], "arm64")).holds()
    requirements.write_text("numpy==2")
    assert not Stamp(tmp_path / "stamps" / "requirements", digest([requirements], "x86_64")).holds()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose Python installs nothing and logs each call."""
    (tmp_path / "constraints.txt").write_text("one==1")
    (tmp_path / "requirements.txt").write_text("one")
    (tmp_path / "requirements-dev.txt").write_text("two")
    (tmp_path / "requirements-setup.txt").write_text("three")
    put_logging_python(tmp_path / ".venv/bin/python", tmp_path)
    return tmp_path


def put_logging_python(path: Path, checkout: Path) -> None:
    put_script(path, f'case "$*" in *install*) echo "$@" >>{checkout}/installs ;; esac')


def installs(checkout: Path) -> list[str]:
    """The file names of the requirements installed so far."""
    path = checkout / "installs"
    return [line.rsplit("/", 1)[1] for line in path.read_text().splitlines()] if path.exists() else []


def test_packages_are_installed_once_until_they_change(checkout: Path) -> None:
    for _ in range(2):
        PythonPackages(checkout).install(APPLICATION)
    assert installs(checkout) == ["requirements.txt"]
    (checkout / "requirements.txt").write_text("one, newer")
    PythonPackages(checkout).install(APPLICATION)
    assert installs(checkout) == ["requirements.txt", "requirements.txt"]


def test_packages_are_installed_again_when_an_indirect_one_gets_another_version(checkout: Path) -> None:
    for pin in ("one==1", "one==2"):
        (checkout / "constraints.txt").write_text(pin)
        PythonPackages(checkout).install(APPLICATION)
    lines = (checkout / "installs").read_text().splitlines()
    assert len(lines) == 2
    assert all(f"--constraint {checkout}/constraints.txt --requirement" in line for line in lines)


def test_what_the_tests_need_holds_what_the_application_needs(checkout: Path) -> None:
    PythonPackages(checkout).install(TESTS)
    PythonPackages(checkout).install(APPLICATION)
    assert installs(checkout) == ["requirements-dev.txt"]


def test_an_installation_that_was_cut_short_is_done_again(checkout: Path) -> None:
    PythonPackages(checkout).install(APPLICATION)
    (checkout / "requirements.txt").write_text("one, newer")
    put_script(checkout / ".venv/bin/python", 'case "$*" in *install*) exit 1 ;; esac')
    with pytest.raises(SetupError):
        PythonPackages(checkout).install(APPLICATION)
    (checkout / "requirements.txt").write_text("one")  # even if the change is taken back meanwhile
    with pytest.raises(SetupError):
        PythonPackages(checkout).install(APPLICATION)


def test_the_engine_is_compiled_once_until_a_source_or_the_processor_changes(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = f'test "$*" = "-m engine compile" && pwd >>{checkout}/compilations'
    put_script(checkout / ".venv/bin/python", python)
    CompiledEngine(checkout).compile()
    assert not (checkout / "compilations").exists()  # there is no engine yet
    source = checkout / "engine" / "search" / "moves.py"
    source.parent.mkdir(parents=True)
    source.write_text("one = 1")
    for _ in range(2):
        CompiledEngine(checkout).compile()
    assert (checkout / "compilations").read_text() == f"{checkout}\n"
    source.write_text("two = 2")
    put_script(checkout / ".venv/bin/python", "exit 1")
    for _ in range(2):
        with pytest.raises(SetupError, match=r"^python -m engine compile failed"):
            CompiledEngine(checkout).compile()
    put_script(checkout / ".venv/bin/python", python)
    for count in (2, 3):
        CompiledEngine(checkout).compile()
        assert (checkout / "compilations").read_text() == f"{checkout}\n" * count
        shutil.rmtree(checkout / "engine" / "__pycache__")  # and with it what was compiled
    monkeypatch.setattr(compiled_engine, "_processor", lambda: "another one")
    CompiledEngine(checkout).compile()
    CompiledEngine(checkout).compile()
    assert (checkout / "compilations").read_text() == f"{checkout}\n" * 4


@pytest.mark.parametrize(
    ("machine", "expected"), [("v22.1.0", "machine"), ("v18.9.0", "installed"), (None, "installed")]
)
def test_node_is_installed_where_the_machine_has_none_that_is_new_enough(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, machine: str | None, expected: str
) -> None:
    monkeypatch.setenv("PATH", f"{checkout}/machine{os.pathsep}/no/such/folder")
    nodes = {"installed": put_script(checkout / "build/node/bin/node", "echo v24.0.0")}
    put_logging_python(checkout / "build/node/bin/python", checkout)
    if machine is not None:
        nodes["machine"] = put_script(checkout / "machine/node", f"echo {machine}")
        put_script(checkout / "machine/npm", "")
    for _ in range(2):
        FrontEnd(checkout).ensure_node()
    assert FrontEnd(checkout).node() == nodes[expected]
    assert installs(checkout) == ["requirements-setup.txt"] * (expected == "installed")


def test_without_any_node_the_error_names_the_remedy(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/no/such/folder")
    remedy = r"^no Node\.js: install version 20 or newer with npm"
    with pytest.raises(SetupError, match=f"{remedy}, or run `make setup-tests`$"):
        FrontEnd(checkout).node()
    put_script(checkout / "build/node/bin/python", 'case "$*" in *install*) echo "ERROR: no wheel"; exit 1 ;; esac')
    with pytest.raises(SetupError, match=rf"{remedy} \(pip failed: no wheel; all of its output: .*\)$"):
        FrontEnd(checkout).ensure_node()


def test_a_browser_is_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("PLACETO_CHROMIUM", raising=False)
    put_script(tmp_path / ".venv/bin/python", "exit 1")
    assert Browser(tmp_path).find() is None
    chrome = put_script(tmp_path / "google-chrome", "")
    assert Browser(tmp_path).find() == chrome
    monkeypatch.setenv("PLACETO_CHROMIUM", "/elsewhere/chromium")
    assert Browser(tmp_path).find() == Path("/elsewhere/chromium")


def test_without_any_browser_the_error_gives_the_reasons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("PLACETO_CHROMIUM", raising=False)
    put_script(tmp_path / ".venv/bin/python", "echo 'Error: no such registry'; exit 1")
    with pytest.raises(SetupError) as raised:
        Browser(tmp_path).install()
    assert str(raised.value) == (
        "no Chromium for the browser tests: install one or set PLACETO_CHROMIUM (apt-get is not on this machine; "
        f"playwright failed: no such registry; all of its output: {tmp_path}/build/setup-playwright.log)"
    )


def find_python(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", ROOT / "setup" / "find-python.sh"],
        env={"PATH": str(path)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_python_that_is_new_enough_is_found_beside_an_old_one(tmp_path: Path) -> None:
    put_script(tmp_path / "python3.11", "exit 127")  # a shim without the version behind it
    put_script(tmp_path / "python3", "echo 3.9")
    (tmp_path / "python").symlink_to(sys.executable)
    answer = find_python(tmp_path)
    assert (answer.stdout, answer.returncode) == ("python\n", 0)


def test_without_a_fitting_python_the_error_is_one_line(tmp_path: Path) -> None:
    put_script(tmp_path / "python3", "echo 3.9")
    put_script(tmp_path / "python3.12", 'case "$2" in *ensurepip*) exit 1 ;; esac; echo 3.12')
    answer = find_python(tmp_path)
    assert answer.returncode == 1
    assert answer.stderr == (
        "set-up: Python 3.11, 3.12 or 3.13 is needed, with its venv module; found: python3.12 has no venv module "
        "(Debian, Ubuntu: apt-get install python3.12-venv); python3 is 3.9;\n"
    )


@pytest.mark.slow
def test_set_up_needs_the_standard_library_alone() -> None:
    answer = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); import setup.__main__"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr


def test_continuous_integration_runs_make_test(tmp_path: Path) -> None:
    put_script(tmp_path / "make", f'echo "$PWD $*"; cat >{tmp_path}/stdin')
    shell = shutil.which("bash")
    assert shell is not None
    environment = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "CI": "true"}
    answer = subprocess.run(
        [ROOT / ".ci" / "run"], cwd="/", env=environment, capture_output=True, text=True, check=True
    )
    assert answer.stdout == f"{ROOT} test\n"
    assert (tmp_path / "stdin").read_text() == ""
