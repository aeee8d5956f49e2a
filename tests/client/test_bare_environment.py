"""The package in an environment of its own, as a person installs it."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.client.scripted_server import Answer, scripted

NOBODY = {"user": None, "accounts": "off", "scope": "admin"}
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a virtual environment with this package alone."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    packages = subprocess.run(
        [folder / "bin/python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    source = tmp_path_factory.mktemp("source") / "client"
    subprocess.run(["cp", "-r", ROOT / "client", source], check=True)  # building leaves folders in the source
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*install, "--target", packages, source], check=True)
    return folder / "bin" / "python"


def run(python: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run([python, *arguments], capture_output=True, text=True, cwd=cwd, env=environment, check=False)


def test_it_is_imported_without_torch(bare: Path, tmp_path: Path) -> None:
    code = "import sys, placeto; print(placeto.__version__, 'torch' in sys.modules)"
    assert run(bare, "-c", code, cwd=tmp_path).stdout == "0.1.0 False\n"


def test_recording_without_torch_is_one_line(bare: Path, tmp_path: Path) -> None:
    ended = run(bare, "-m", "placeto", "record", "models:gpt", "--out", "step.json", cwd=tmp_path)
    assert ended.returncode == 2
    assert ended.stderr == "placeto: recording needs PyTorch 2.4 or newer, and it is not installed here\n"


def test_a_server_without_httpx_is_one_line(bare: Path, tmp_path: Path) -> None:
    ended = run(bare, "-m", "placeto", "login", "http://127.0.0.1:8000", cwd=tmp_path)
    assert ended.returncode == 2
    assert ended.stderr == (
        "placeto: talking to a server needs httpx, which is not installed here: pip install httpx\n"
    )


def test_placing_here_without_the_engine_is_one_line(bare: Path, tmp_path: Path) -> None:
    ended = run(bare, "-m", "placeto", "place", "graph.pb", "--cluster", "2xK80", "--local", cwd=tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)
    assert f"{bare} has no engine: install Placeto Explorer for it" in ended.stderr


def test_a_server_is_asked_where_httpx_is_without_torch(bare: Path, tmp_path: Path) -> None:
    """httpx and what it needs are lent to the environment, and nothing else."""
    packages = next((bare.parents[1] / "lib").glob("python*/site-packages"))
    for name in ("httpx", "httpcore", "h11", "anyio", "idna", "certifi", "sniffio", "typing_extensions.py"):
        lent = Path(sysconfig.get_path("purelib")) / name
        if lent.exists() and not (packages / name).exists():
            (packages / name).symlink_to(lent)
    with scripted(lambda _asked, _number: Answer(body=NOBODY)) as server:
        ended = run(bare, "-m", "placeto", "login", server.address, cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith(f"logged in at {server.address}; stored in ")
    loaded = run(bare, "-c", "import placeto, sys; print('torch' in sys.modules, 'httpx' in sys.modules)", cwd=tmp_path)
    assert loaded.stdout == "False False\n"


def test_it_records_where_torch_is(bare: Path, tmp_path: Path) -> None:
    """That of the tests is lent to the environment."""
    packages = next((bare.parents[1] / "lib").glob("python*/site-packages"))
    (packages / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    (tmp_path / "models.py").write_text(
        "import torch\ndef f():\n    return torch.nn.Linear(2, 3), torch.zeros(1, 2)\n", encoding="utf-8"
    )
    ended = run(bare, "-m", "placeto", "record", "models:f", "--out", "step.json.gz", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "12 FLOP" in ended.stdout
    assert (tmp_path / "step.json.gz").is_file()
