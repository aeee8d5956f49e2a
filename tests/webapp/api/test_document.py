"""docs/api.md: its example runs, and it names every code of an error."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.webapp.graph_files import graphdef
from tests.webapp.processes import Surroundings
from webapp.http.api_errors import BAD_REQUEST, CODES
from webapp.runs.models import Run
from webapp.uploads.receiving import KEPT_FOR

DOCUMENT = (Path(__file__).parents[3] / "docs" / "api.md").read_text()


@pytest.mark.slow
def test_the_example_places_a_graph(around: Surroundings, tmp_path: Path) -> None:
    [example] = re.findall(r"```bash\n(.*?)```", DOCUMENT, re.DOTALL)
    around.start_redis()
    for queue in ("cpu", "gpu"):
        around.start_worker(queue)
    (tmp_path / "model.pb").write_bytes(graphdef())
    variables = {
        "PLACETO_URL": f"http://127.0.0.1:{around.start_web()}",
        "PLACETO_TOKEN": "",
        "PATH": os.environ["PATH"],
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", example], cwd=tmp_path, env=variables, capture_output=True, timeout=240
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert Run.objects.get().status == Run.DONE
    assert (tmp_path / "placed.pb").read_bytes()
    assert '"type":"finished"' in (tmp_path / "events.txt").read_text().replace(" ", "")


def test_it_names_every_code() -> None:
    assert all(f"`{code}`" in DOCUMENT for code in {BAD_REQUEST, *CODES.values()})
    assert KEPT_FOR.days == 1 and "removed a day after its last part" in DOCUMENT
