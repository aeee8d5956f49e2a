"""The client with the real application: what a person does with it, and what breaks meanwhile."""

import gzip
import io
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import placeto
import pytest
from placeto.command_line import main
from placeto.errors import ClientError, InfeasibleError, ServerError
from placeto.remote import uploading
from placeto.remote.client import Client
from placeto.remote.login import Login, store_login
from placeto.remote.rows import Graph
from placeto.remote.watching import Watch
from torch import nn, zeros
from torch.optim import SGD

from tests.client.breaking_proxy import breaking
from tests.client.conftest import Server
from tests.supervisor.started import eventually

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "client" / "README.md"
CLUSTER = "2xK80"
pytestmark = pytest.mark.slow


def node(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "type": "product", "time_us": 100.0, "output_bytes": [4000], **more}


def graph_of(ops: int, text: str = "", **more: Any) -> dict[str, Any]:
    """A chain of ops; `text` makes the file as long as a test needs it."""
    nodes = [node(f"op{number}", **more) for number in range(ops)]
    edges = [{"source": f"op{number}", "target": f"op{number + 1}", "output": 0} for number in range(ops - 1)]
    return {
        "directed": True,
        "multigraph": False,
        "graph": {"name": "chain", "note": text},
        "nodes": nodes,
        "edges": edges,
    }


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A small graph's file."""
    path = tmp_path / "chain.json"
    path.write_text(json.dumps(graph_of(6)))
    return path


@pytest.fixture
def client(server: Server) -> Client:
    """Of the application without accounts."""
    return Client(server.address)


@pytest.fixture(scope="module")
def chain(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """Such a graph, read by the server."""
    path = tmp_path_factory.mktemp("graphs") / "chain.json"
    path.write_text(json.dumps(graph_of(6)))
    return Client(server.address).upload(path, "Chains")


def placed(client: Client, graph: Path | Graph, **more: Any) -> placeto.PlacedRun:
    return client.place(graph, CLUSTER, "heft", evaluations=20, **more)


def test_the_readme_s_example_runs(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = README.read_text().index("    client = placeto.Client(")
    lines = [line[4:] for line in README.read_text()[first:].partition("\n\n")[0].splitlines()]
    assert 8 <= len(lines) <= 10
    monkeypatch.chdir(tmp_path)
    store_login(Login(server.address, None))
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
    names: dict[str, Any] = {"model": model, "inputs": zeros(4, 64), "placeto": placeto}
    exec(compile("\n".join(lines), str(README), "exec"), names)  # as a person runs it
    run = names["placed"]
    assert isinstance(run, placeto.PlacedRun) and run.step_time_us > 0
    assert json.loads((tmp_path / "model.device_map.json").read_text()) == run.device_map()


def test_an_answer_has_figures_tables_and_files(
    client: Client, chain: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = placed(client, chain, name="the first", seed=3)
    assert (answer.run.status, answer.run.title, answer.run.seed) == ("done", "the first", 3)
    assert set(answer.placement) == {f"op{number}" for number in range(6)}
    assert answer.step_time_us == answer.report["step_time_us"] == pytest.approx(600, rel=0.1)
    assert [each.method for each in answer.baselines][:1] == ["single_device"]
    assert answer.verdict and answer.verdict in str(answer)
    episodes = answer.to_records()
    assert episodes and all(row.keys() >= {"seq", "evaluations", "step_time_us", "feasible"} for row in episodes)
    assert not any(isinstance(value, (list, dict)) for row in episodes for value in row.values())
    with pytest.raises(ClientError, match="allowed: episodes, baselines"):
        answer.to_records("all")
    with monkeypatch.context() as context:
        context.setitem(sys.modules, "pandas", None)
        with pytest.raises(ClientError, match=r"needs pandas, .* to_records\(\) gives lists"):
            answer.to_pandas()
    assert json.loads(answer.save(tmp_path / "placement.json").read_bytes()) == answer.placement
    assert json.loads(answer.save(tmp_path / "report.json").read_bytes())["step_time_us"] == answer.step_time_us
    with pytest.raises(ServerError, match="no GraphDef") as caught:
        answer.save(tmp_path / "placed.pb")
    assert caught.value.code == "conflict" and not (tmp_path / "placed.pb").exists()
    with pytest.raises(ClientError, match="no file of a placement ends so"):
        answer.save(tmp_path / "placed.txt")
    frame = answer._repr_html_()
    assert frame.startswith('<iframe sandbox="allow-scripts" ') and "&lt;!doctype html&gt;" in frame.lower()
    assert answer.id in [run.id for run in client.runs(client.project("Chains"))]
    assert answer.id in [run.id for run in client.runs(chain)]


def test_a_table_becomes_a_frame_where_pandas_is(client: Client, chain: Graph) -> None:
    pytest.importorskip("pandas")
    answer = placed(client, chain)
    frame = answer.to_pandas()
    assert [*frame["evaluations"]] == [row["evaluations"] for row in answer.to_records()]
    assert frame.index.name == "seq" and "placement" not in frame
    assert [*answer.to_pandas("baselines")["method"]] == [each.method for each in answer.baselines]


def test_other_placements_are_evaluated_and_work_is_compared_and_deleted(client: Client, chain: Graph) -> None:
    answer = placed(client, chain)
    one = dict.fromkeys(answer.placement, "/device:GPU:0")
    assert client.evaluate(answer, one).step_time_us == pytest.approx(answer.step_time_us)
    moved = client.evaluate(answer.run, {**one, "op3": "/device:GPU:1"})
    assert moved.step_time_us != answer.step_time_us and moved.feasible and all(moved.peak_bytes)
    with pytest.raises(ServerError):
        client.evaluate(answer, {"op0": "/device:GPU:0"})
    comparison = client.wait(client.compare(chain, CLUSTER, ["heft", "random"], seeds=1, evaluations=9))
    assert comparison.status == "done"
    assert {row["method"] for row in client.report(comparison)["methods"]} == {"heft", "random"}
    with pytest.raises(ServerError) as caught:
        client.compare(chain, CLUSTER, ["none"])
    assert caught.value.field == "methods"
    assert all(isinstance(policy.name, str) for policy in client.policies(1))
    client.delete(answer)
    with pytest.raises(ServerError, match="does not exist"):
        client.run(answer.id)
    client.delete(client.make_project("Others"))
    with pytest.raises(ClientError, match="there is no project"):
        client.project("Others")


def test_a_run_without_room_is_infeasible(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "large.json"
    path.write_text(json.dumps(graph_of(4, temporary_bytes=20_000_000_000)))
    store_login(Login(server.address, None))
    assert main(["place", str(path), "--cluster", CLUSTER, "--method", "heft", "--evaluations", "9", "--watch"]) == 3
    address, sentence = capsys.readouterr().err.splitlines()
    assert sentence.startswith("placeto: HEFT on large.json: ")
    run = Client().run(address.rstrip("/").rpartition("/")[2])
    with pytest.raises(InfeasibleError, match="HEFT on large"):
        run.watch()


def test_a_file_that_is_no_graph_is_one_line(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store_login(Login(server.address, None))
    (tmp_path / "bad.json").write_text('{"nodes": 3}')
    assert main(["place", str(tmp_path / "bad.json"), "--cluster", CLUSTER]) == 2
    error = capsys.readouterr().err
    assert error == "placeto: nodes: 3; allowed: a list of at least one node\n"


def test_the_command_line_places_watches_and_lists(
    server: Server, small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store_login(Login(server.address, None))
    options = ["--cluster", CLUSTER, "--method", "heft", "--evaluations", "20", "--project", "Commands"]
    assert main(["place", str(small), *options]) == 0
    run_id = capsys.readouterr().out.strip()
    out, report = tmp_path / "placement.json", tmp_path / "r.json"
    page = f"{server.address}/runs/{run_id}/"
    assert main(["watch", page, "--out", str(out), "--report", str(report)]) == 0
    said = capsys.readouterr()
    assert said.out.endswith(f"written to {report}\nwritten to {out}\n") and said.err == f"{page}\n"
    assert json.loads(out.read_bytes()) == json.loads(report.read_bytes())["placement"]
    assert main(["runs", "--project", "Commands"]) == 0
    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith(run_id) and " done " in line and "HEFT on chain.json" in line
    assert main(["place", str(small), *options, "--out", str(tmp_path / "placed.txt")]) == 2
    assert "placed.txt: no file of a placement ends so" in capsys.readouterr().err
    assert main(["watch", "nonsense"]) == 2
    assert capsys.readouterr().err == "placeto: 'nonsense' is no id of a run\n"


def test_a_recording_is_uploaded_by_the_command_line(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store_login(Login(server.address, None))
    (tmp_path / "networks_to_upload.py").write_text(
        "import torch\ndef f():\n    return torch.nn.Linear(2, 3), torch.zeros(1, 2)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert main(["record", "networks_to_upload:f", "--upload", "--project", "Recordings"]) == 0
    said = capsys.readouterr().out
    [graph] = Client(server.address).graphs("Recordings")
    assert said.endswith(f"uploaded to {server.address}/graphs/{graph.id}/\n")
    assert (graph.name, graph.status) == ("Linear.json.gz", "ready")
    assert main(["record", "networks_to_upload:f"]) == 2
    assert capsys.readouterr().err == "placeto: record takes --out FILE, --upload, or both\n"


def large_file(folder: Path) -> Path:
    """A graph in a file above 16 MB."""
    path = folder / "long.json"
    path.write_text(json.dumps(graph_of(3, "x" * (uploading.AT_ONCE_BYTES + 2_000_000))))
    return path


def test_a_search_for_plans_gives_what_carries_them_out(client: Client, tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
    step = placeto.record(model, zeros(4, 64), lambda out: out.sum(), SGD, batch=4)
    search = client.wait(client.plan(client.upload(step, "Chains"), CLUSTER, 8, seconds=1.0))
    assert (search.status, search.batch) == ("done", 8) and search.best_batch_us
    plans = client.report(search)["plans"]
    assert plans[0]["batch_time_us"] == pytest.approx(search.best_batch_us)
    with pytest.raises(ServerError, match="had already ended") as caught:
        client.cancel(search)
    assert caught.value.code == "conflict"


def test_an_upload_that_breaks_in_the_middle_of_a_part_goes_on(server: Server, tmp_path: Path) -> None:
    sent: list[int] = []
    with breaking(server.address, sent=9_500_000, breaks=2) as proxy:
        client = Client(proxy.address)
        client._connection.sleep = lambda _seconds: None
        project = client.make_project("Broken")
        row = uploading.upload(
            client._connection, project.id, large_file(tmp_path), {}, progress=lambda done, _total: sent.append(done)
        )
        assert proxy.broken == 2
        graph = client._read(Graph.of(row), {}, None)
    assert (graph.status, graph.ops) == ("ready", 3)
    assert sent == sorted(sent) and sent[0] == 0 and len(set(sent)) > 2
    assert [each.id for each in client.graphs(project)] == [graph.id]


def test_an_upload_goes_on_in_another_process(server: Server, tmp_path: Path) -> None:
    path = large_file(tmp_path)
    first, again = Client(server.address), Client(server.address)
    project = first.make_project("Left")
    begun = uploading._PartialUpload(first._connection, project.id, path, path.stat().st_size, lambda _d, _t: None)
    row = begun._begun()
    with path.open("rb") as file:
        part = file.read(row["part_bytes"])
    first._connection.send_once("PUT", f"/uploads/{row['id']}", content=part, headers={uploading.OFFSET: "0"})
    sent: list[int] = []
    uploading.upload(again._connection, project.id, path, {}, progress=lambda done, _total: sent.append(done))
    assert sent[0] == row["part_bytes"], "the first part is not sent again"
    uploading.upload(again._connection, project.id, path, {}, progress=lambda done, _total: sent.append(done))
    assert len(again.graphs(project)) == 2, "the same file once more is another graph"


def test_a_watch_that_breaks_goes_on(server: Server, client: Client, chain: Graph) -> None:
    with breaking(server.address, received=20_000, breaks=3) as proxy:
        through = Client(proxy.address)
        through._connection.sleep = lambda _seconds: None
        run = through.start(chain, CLUSTER, method="random", evaluations=1000)
        seen = [event["seq"] for news in Watch(through._connection, f"/runs/{run.id}") for event in news.events]
        assert proxy.broken >= 1
        answer = run.watch()
    assert seen == [event["seq"] for event in answer._events] == list(range(1, len(seen) + 1))
    assert answer.placement == client.run(run.id).answer().placement


@pytest.fixture
def interrupts() -> Iterator[None]:
    """A shell that starts tests in the background lets them, and all that they start, ignore interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_leaves_the_run_going(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "chain.json.gz"
    path.write_bytes(gzip.compress(json.dumps(graph_of(40)).encode()))
    store_login(Login(server.address, None))
    command = [sys.executable, "-m", "placeto", "place", str(path), "--cluster", "4xK80", "--method", "random"]
    command += ["--evaluations", "100000000", "--watch"]
    errors = tmp_path / "errors"
    with errors.open("w") as stream:
        watching = subprocess.Popen(command, cwd=ROOT / "client", stdout=subprocess.DEVNULL, stderr=stream)
    client = Client(server.address)
    with ExitStack() as ends:
        ends.callback(watching.wait)
        ends.callback(watching.kill)
        eventually(lambda: "/runs/" in errors.read_text(), "the command names its run")
        run = client.run(errors.read_text().strip().rstrip("/").rpartition("/")[2])
        ends.callback(client.cancel, run)
        eventually(lambda: run.now().status == "running", "the run works")
        watching.send_signal(signal.SIGINT)
        assert watching.wait(30) == 130
        assert errors.read_text().endswith(f'The run goes on. Watch it again by Client().run("{run.id}").watch()\n')
        assert run.now().status == "running"
    assert run.watch().run.status == "cancelled"


def test_with_accounts_a_token_opens_what_is_its_user_s(
    guarded: Server, server: Server, small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ServerError) as caught:
        Client(guarded.address).projects()
    assert (caught.value.status, caught.value.code) == (401, "unauthorized")
    assert guarded.token is not None
    monkeypatch.setattr(sys, "stdin", io.StringIO(guarded.token))
    assert main(["login", guarded.address, "--token", "-"]) == 0
    assert "as ada, who may write" in capsys.readouterr().out
    Client(server.address).make_project("Of nobody")
    client = Client()
    assert [project.name for project in client.projects()] == []
    answer = placed(client, small)
    assert [project.name for project in client.projects()] == ["My graphs"]
    assert client.run(answer.id).answer().placement == answer.placement
    with pytest.raises(ServerError) as caught:
        client.delete(client.project("My graphs"))
    assert caught.value.code == "forbidden", "the token may write, and an owner's rights need more"
