"""What operators see: settings behind TLS, and logs without other people's noise."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.test import Client

from webapp.logs import NoUserMistakes

ROOT = Path(__file__).resolve().parents[2]


def check_deploy(data_folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """`manage.py check --deploy` with these variables."""
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    variables = {**os.environ, "PLACETO_DATA": str(data_folder), **environment}
    return subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_behind_tls_the_check_for_deployment_finds_nothing(data_folder: Path) -> None:
    plain = check_deploy(data_folder)
    assert plain.returncode != 0 and "SECURE_HSTS_SECONDS" in plain.stderr
    behind_tls = check_deploy(data_folder, PLACETO_BEHIND_TLS="true")
    assert (behind_tls.returncode, behind_tls.stderr) == (0, ""), behind_tls.stdout


def test_a_bad_host_header_is_one_line(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.handler.addFilter(NoUserMistakes())
    response = client.get("/", headers={"host": "evil.example"})
    assert response.status_code == 400
    [record] = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert "evil.example" in record.getMessage()
    assert record.exc_info is None
