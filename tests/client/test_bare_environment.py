"""The package in an environment of its own, as a person installs it."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

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
