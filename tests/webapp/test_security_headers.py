"""The security headers of every answer."""

import pytest
from django.test import Client

from tests.webapp.processes import Surroundings, fetch
from webapp.runs.models import Run

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@pytest.mark.parametrize("address", ["/", "/no/such/page", "/runs/{run}/", "/runs/{run}/run.json", "/static/none.js"])
def test_nothing_is_loaded_from_elsewhere_framed_or_guessed(client: Client, run: Run, address: str) -> None:
    headers = client.get(address.format(run=run.id)).headers
    assert headers["Content-Security-Policy"] == POLICY
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "same-origin"


def test_no_page_has_scripts_or_styles_in_it(client: Client, run: Run) -> None:
    for address in ("/", f"/projects/{run.graph.project_id}/", f"/graphs/{run.graph_id}/", f"/runs/{run.id}/"):
        page = client.get(address).content.decode()
        for tag in page.split("<script")[1:]:
            opening = tag.partition(">")[0]
            assert "src=" in opening or 'type="application/json"' in opening, opening
        assert "<style" not in page
        assert " style=" not in page
        assert " onclick=" not in page
        assert 'src="http' not in page
        assert 'href="http' not in page.replace('href="https://', "")


def test_a_host_that_is_not_ours_is_refused() -> None:
    assert Client(headers={"host": "evil.example"}).get("/").status_code == 400
    assert Client(headers={"host": "localhost:8000"}).get("/").status_code == 200


def test_the_real_server_sends_them_with_static_files_too(around: Surroundings) -> None:
    port = around.start_web()
    status, headers, body = fetch(port, "/static/vendor/cytoscape.esm.min.mjs")
    if status == 404:
        pytest.skip("the front-end packages are not set up")
    assert status == 200
    assert headers["Content-Security-Policy"] == POLICY
    assert headers["Content-Type"].startswith("text/javascript")
    assert len(body) == int(headers["Content-Length"]) > 100_000
    again, _, nothing = fetch(port, "/static/vendor/cytoscape.esm.min.mjs", **{"If-None-Match": headers["ETag"]})
    assert (again, nothing) == (304, b"")
    for kept in ("/static/package.json", "/static/node_modules/cytoscape/package.json", "/static/tsconfig.json"):
        assert fetch(port, kept)[0] == 404, kept
