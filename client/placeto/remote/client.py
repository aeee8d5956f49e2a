"""`placeto.Client`: the verbs of a server."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar, Union

from placeto.errors import ClientError, InfeasibleError, ServerError
from placeto.recording import Recording
from placeto.remote.connection import CONFLICT, Connection, path_of
from placeto.remote.graphs import graph_file, read, what_it_asks
from placeto.remote.login import find_login
from placeto.remote.progress import ProgressLine, bytes_words
from placeto.remote.rows import Comparison, Evaluation, Graph, Me, PlanSearch, Policy, Project, Row
from placeto.remote.runs import PlacedRun, Run
from placeto.remote.uploading import upload
from placeto.remote.watching import Watch

if TYPE_CHECKING:
    import torch

UNPROCESSABLE = 422
"""of a request to place what has no room"""
USUAL_PROJECT = "My graphs"
"""as the server calls the project of uploads that name none"""
MAY_ADD = ("editor", "owner")
GraphLike = Union[str, Path, Recording, Graph, "torch.nn.Module"]
ROW = TypeVar("ROW", bound=Row)
SEARCH = TypeVar("SEARCH", Comparison, PlanSearch, Policy)
WORK = TypeVar("WORK", Run, Comparison, PlanSearch, Policy)


class Client:
    """A server of Placeto Explorer: `Client().place("graph.pb", "2xK80")`.

    The address and the token are those of `placeto login`, unless they are given here, or by PLACETO_URL and
    PLACETO_TOKEN. A request whose answer is lost is sent again; what makes something does so once.
    """

    def __init__(self, address: str | None = None, token: str | None = None) -> None:
        """Asks nothing yet.

        Raises:
            ClientError: No address, or one that is none; httpx is missing.
        """
        self._connection = Connection(find_login(address, token))

    def __repr__(self) -> str:
        return f"Client({self.address!r})"

    @property
    def address(self) -> str:
        """Of the server."""
        return self._connection.login.address

    def close(self) -> None:
        """Ends the connection."""
        self._connection.close()

    def me(self) -> Me:
        """Who asks, and what the token allows."""
        return Me.of(self._connection.get("/me"))

    def place(
        self,
        graph: GraphLike,
        cluster: str | Path | Mapping[str, Any] = "2xRTX4090",
        method: str | None = None,
        *,
        inputs: Any = None,
        loss: Any = None,
        optimizer: Any = None,
        batch: int | None = None,
        evaluations: int | None = None,
        seconds: float | None = None,
        seed: int | None = None,
        project: str | Project | None = None,
        name: str = "",
        reading: Mapping[str, Any] | None = None,
        progress: bool | None = None,
        **more: Any,
    ) -> PlacedRun:
        """Places a graph on devices: uploads it, starts a run and watches it to its end.

        Args:
            graph: A file (`.pb`, `.onnx`, `.json.gz` and others), a recording, a graph of the server, or a module,
                which is recorded with `inputs`, `loss`, `optimizer` and `batch` as by `placeto.record`.
            cluster: `2xK80`, `4xV100+cpu`; cluster JSON as a mapping, or its file.
            method: The server's first one, `auto`, without it.
            evaluations: The budget of simulated placements; 2000 without it.
            seconds: Also ends after so many seconds.
            seed: Of all random numbers; 0 without it.
            project: Its name, which makes one where none is called so; the project of uploads without it.
            name: Of the run, for lists.
            reading: How to read the file: `batch_size`, `groups` and other fields of the server's form.
            progress: Whether to show how far it is; by default where stderr is a terminal.
            more: Other fields of the server's form for runs: `prefer`, `objective`, `micro_batches`, `constraints`.

        Raises:
            InfeasibleError: No placement fits the devices' memory.
            ServerError: The server refuses something.
            ClientError: The graph cannot be read, the run failed, or the server gives no answer.
            RecordingError: The module cannot be recorded.
        """
        recording = {"inputs": inputs, "loss": loss, "optimizer": optimizer, "batch": batch}
        if isinstance(graph, Graph):
            found = self._read(graph, reading or {}, progress)
        else:
            found = self.upload(graph, project, reading=reading, progress=progress, **recording)
        given = {"method": method, "evaluations": evaluations, "seconds": seconds, "seed": seed, **more}
        return self.start(found, cluster, name=name, **given).watch(progress)

    def upload(
        self,
        graph: str | Path | Recording | torch.nn.Module,
        project: str | Project | None = None,
        *,
        reading: Mapping[str, Any] | None = None,
        times: str | Path | None = None,
        progress: bool | None = None,
        **recording: Any,
    ) -> Graph:
        """Uploads a graph and waits until the server has read it. A large file that was interrupted goes on.

        Args:
            graph: A file, a recording, or a module, which is recorded with `inputs`, `loss`, `optimizer`, `batch`.
            project: Its name, which makes one where none is called so; the project of uploads without it.
            reading: How to read the file: `batch_size`, `groups` and other fields of the server's form.
            times: A file of measured op times.
            progress: Whether to show how far it is; by default where stderr is a terminal.

        Raises:
            ServerError: The server refuses the file.
            ClientError: It cannot be read, or leaves a length open that nobody has said.
            RecordingError: The module cannot be recorded.
        """
        reading = dict(reading or {})
        as_it_is = reading.pop("as_it_is", False)
        with TemporaryDirectory() as folder, ProgressLine(progress) as line:
            path = graph_file(graph, Path(folder), recording)
            times_path = None if times is None else Path(times)

            def sent(done: int, total: int) -> None:
                line.show(f"sends {path.name}: {bytes_words(done)} of {bytes_words(total)}", now=done == total)

            row = upload(self._connection, self._project_for(project).id, path, reading, times_path, sent)
        return self._read(Graph.of(row), {**reading, "as_it_is": as_it_is}, progress)

    def start(
        self, graph: Graph | str, cluster: str | Path | Mapping[str, Any], *, name: str = "", **fields: Any
    ) -> Run:
        """Starts a run on a graph of the server, and does not wait for it.

        Args:
            graph: The graph, or its id.
            cluster: As for `place`.
            name: Of the run, for lists.
            fields: Of the server's form: `method`, `evaluations`, `seconds`, `seed` and others.

        Raises:
            InfeasibleError: No placement could fit the devices' memory.
            ServerError: The server refuses a field.
        """
        try:
            row = self._begin(f"{path_of('graphs', _id_of(graph))}/runs", cluster, fields)
        except ServerError as error:
            if (error.status, error.field) == (UNPROCESSABLE, "cluster"):
                raise InfeasibleError(error.message) from None
            raise
        run = Run.of(row, connection=self._connection)
        return self.rename(run, name) if name else run

    def compare(
        self,
        graph: Graph | str,
        cluster: str | Path | Mapping[str, Any],
        methods: Sequence[str],
        *,
        seeds: int | None = None,
        evaluations: int | None = None,
        seconds: float | None = None,
        **more: Any,
    ) -> Comparison:
        """Starts a run of each method with each seed on a graph of the server: `wait` for it, then `report` it.

        Raises:
            ServerError: The server refuses a field.
        """
        fields = {"methods": [*methods], "seeds": seeds, "evaluations": evaluations, "seconds": seconds, **more}
        return Comparison.of(self._begin(f"{path_of('graphs', _id_of(graph))}/comparisons", cluster, fields))

    def plan(
        self,
        graph: Graph | str,
        cluster: str | Path | Mapping[str, Any],
        batch: int,
        *,
        seconds: float | None = None,
        **more: Any,
    ) -> PlanSearch:
        """Starts a search for replicas, pipelines and their shares of a batch: `wait` for it, then `report` it.

        Raises:
            ServerError: The server refuses a field.
        """
        fields = {"batch": batch, "seconds": seconds, **more}
        return PlanSearch.of(self._begin(f"{path_of('graphs', _id_of(graph))}/plans", cluster, fields))

    def wait(self, work: SEARCH, progress: bool | None = None) -> SEARCH:
        """Waits until a comparison, a search or a training has ended; returns its row. Of a run, `watch` does.

        Raises:
            ServerError: It is deleted meanwhile.
            ClientError: The server gives no answer for long.
        """
        address = path_of(work.KIND, work.id)
        with ProgressLine(progress) as line:
            for news in Watch(self._connection, address):
                line.show(f"{work.KIND} {work.id}: {news.state.get('status', '')}")
        return self._row(type(work), self._connection.get(address))

    def report(self, work: Comparison | PlanSearch) -> dict[str, Any]:
        """The report of a comparison, or of a search for plans, which `placeto.carry_out` takes.

        Raises:
            ServerError: There is none yet.
        """
        end = ("files", "comparison.json") if isinstance(work, Comparison) else ("report",)
        found: dict[str, Any] = self._connection.get(path_of(work.KIND, work.id, *end))
        return found

    def projects(self) -> list[Project]:
        """All projects that may be seen, newest first."""
        return self._rows(Project, "/projects")

    def project(self, name: str) -> Project:
        """The project of that name or id.

        Raises:
            ClientError: None, or several.
        """
        found = [each for each in self.projects() if name in (each.name, each.id)]
        if len(found) == 1:
            return found[0]
        if not found:
            raise ClientError(f"there is no project {name!r}; make_project makes one")
        raise ClientError(f"{len(found)} projects are called {name!r}; name one by its id, such as {found[0].id}")

    def make_project(self, name: str) -> Project:
        """Makes a project."""
        return Project.of(self._connection.make("/projects", json={"name": name}))

    def graphs(self, project: Project | str, limit: int | None = None) -> list[Graph]:
        """The graphs of a project, newest first."""
        return self._rows(Graph, f"{path_of('projects', self._project(project).id)}/graphs", limit)

    def runs(self, of: Project | Graph | None = None, limit: int | None = None) -> list[Run]:
        """The runs of a project, of a graph, or of all projects, newest first."""
        if of is not None:
            return self._rows(Run, f"{path_of(of.KIND, of.id)}/runs", limit)
        found = [run for project in self.projects() for run in self.runs(project, limit)]
        return sorted(found, key=lambda run: run.created_at, reverse=True)[:limit]

    def policies(self, limit: int | None = None) -> list[Policy]:
        """The policies, newest first."""
        return self._rows(Policy, "/policies", limit)

    def graph(self, graph_id: str) -> Graph:
        """The graph of that id."""
        return Graph.of(self._connection.get(path_of("graphs", _checked_id(graph_id, "graph"))))

    def run(self, run_id: str) -> Run:
        """The run of that id: `run(id).watch()`, `run(id).answer()`."""
        values = self._connection.get(path_of("runs", _checked_id(run_id, "run")))
        return Run.of(values, connection=self._connection)

    def evaluate(self, run: Run | PlacedRun, placement: Mapping[str, str]) -> Evaluation:
        """Simulates a step of another placement, {op: device} of all ops, on a run's graph and cluster.

        Raises:
            ServerError: It is no placement of them.
        """
        body = {"placement": dict(placement)}
        values = self._connection.send("POST", path_of("runs", run.id, "evaluate"), json=body).json()
        known = {name: values[name] for name in ("step_time_us", "feasible", "missing_bytes")}
        return Evaluation(**known, peak_bytes=tuple(values["peak_bytes"]))

    def cancel(self, work: WORK) -> WORK:
        """Ends work early; what it has found stays.

        Raises:
            ServerError: It had ended.
        """
        self._connection.send("POST", f"{path_of(work.KIND, work.id)}/cancel")
        return self._row(type(work), self._connection.get(path_of(work.KIND, work.id)))

    def delete(self, row: Row | PlacedRun) -> None:
        """Deletes a row, with all that belongs to it."""
        row = row.run if isinstance(row, PlacedRun) else row
        self._connection.delete(path_of(row.KIND, row.id))

    def rename(self, row: ROW, name: str) -> ROW:
        """Gives a row another name."""
        answer = self._connection.send("PATCH", path_of(row.KIND, row.id), json={"name": name})
        return self._row(type(row), answer.json())

    def _begin(self, path: str, cluster: str | Path | Mapping[str, Any], fields: Mapping[str, Any]) -> Any:
        given = {name: value for name, value in fields.items() if value is not None}
        body = {"cluster": _cluster_text(cluster), **given}
        try:
            json.dumps(body, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ClientError(f"a field is none of JSON: {error}") from None
        return self._connection.make(path, json=body)

    def _read(self, graph: Graph, reading: Mapping[str, Any], progress: bool | None) -> Graph:
        """The graph once it is read; what its file leaves open is said by `reading`, if that has it."""
        with ProgressLine(progress) as line:
            graph = read(self._connection, graph, line)
            if graph.status != "asking":
                return graph
            said = {name: reading[name] for name in ("batch_size", "lengths", "as_it_is") if reading.get(name)}
            if not said:
                raise ClientError(what_it_asks(graph))
            try:
                self._connection.send("POST", f"{path_of('graphs', graph.id)}/begin", json=said)
            except ServerError as error:
                if error.status != CONFLICT:  # it asks no more: an answer was lost, or somebody else was faster
                    raise
            return read(self._connection, self.graph(graph.id), line)

    def _project_for(self, project: str | Project | None) -> Project:
        """Where a graph is to go; a new project where none is called so."""
        if isinstance(project, Project):
            return project
        name = project or USUAL_PROJECT
        found = [each for each in self.projects() if name in (each.name, each.id)]
        found = [each for each in found if each.values.get("role", "owner") in MAY_ADD] or found
        if not found:
            return self.make_project(name)
        if len(found) > 1 and project is not None:
            raise ClientError(f"{len(found)} projects are called {name!r}; name one by its id, such as {found[0].id}")
        return found[0]

    def _project(self, project: Project | str) -> Project:
        return project if isinstance(project, Project) else self.project(project)

    def _rows(self, kind: type[ROW], path: str, limit: int | None = None) -> list[ROW]:
        return [self._row(kind, values) for values in islice(self._connection.all_of(path, limit), limit)]

    def _row(self, kind: type[ROW], values: Mapping[str, Any]) -> ROW:
        return kind.of(values, connection=self._connection) if issubclass(kind, Run) else kind.of(values)


def _id_of(graph: Graph | str) -> str:
    return graph.id if isinstance(graph, Graph) else graph


def _checked_id(text: str, what: str) -> str:
    """Raises ClientError for what is no id."""
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise ClientError(f"{text!r} is no id of a {what}") from None


def _cluster_text(cluster: str | Path | Mapping[str, Any]) -> str:
    """What the server's form takes. Raises ClientError for a file that cannot be read."""
    if isinstance(cluster, Mapping):
        return json.dumps(dict(cluster))
    if isinstance(cluster, str) and not cluster.endswith(".json"):
        return cluster
    try:
        return Path(cluster).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ClientError(f"{cluster}: {getattr(error, 'strerror', None) or 'this is no text'}") from None
