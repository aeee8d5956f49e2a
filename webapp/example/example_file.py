"""The file of the example: a graph as it was read, a run's request, and the events that the run emitted.

    request.json    Request
    graph.pb        the graph's file, for downloads
    prepared.bin    PreparedGraph.to_bytes()
    events.jsonl    NumberedEvent.to_json(), one per line
    policy.bin      LearnedPolicy.policy: with it the page shows the decisions inside an episode

`python -m webapp.example` writes it.
"""

import json
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path

from engine import api
from webapp.runs.baselines import BASELINES

EXAMPLE = Path(__file__).parent / "inception_v3.zip"
_REQUEST, _GRAPH, _PREPARED, _EVENTS = "request.json", "graph.pb", "prepared.bin", "events.jsonl"
_POLICY = "policy.bin"
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""the time of each entry, so that equal contents make equal files"""


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for."""

    sample: str
    """one of `api.samples()`"""
    cluster: str
    """a shorthand"""
    method: str
    evaluations: int
    seed: int

    def run(self, seconds: float | None = None) -> api.RunRequest:
        """The engine's request, with a limit of `seconds` if there is one."""
        budget = api.Budget(self.evaluations, seconds)
        return api.RunRequest(api.parse_cluster(self.cluster), self.method, budget, self.seed, baselines=BASELINES)


@dataclass(frozen=True, slots=True)
class ExampleFile:
    """The content of the file."""

    request: Request
    graph: bytes
    prepared: bytes
    events: list[api.NumberedEvent]
    """from `Started` to `Finished`"""
    policy: bytes

    @property
    def report(self) -> dict[str, api.Json]:
        """The run's report."""
        finished = self.events[-1].event
        assert isinstance(finished, api.Finished), "the example is a run that has ended"
        return finished.report

    def write(self, path: Path) -> None:
        """Write it."""
        lines = [json.dumps(event.to_json(), separators=(",", ":")) for event in self.events]
        contents = {
            _REQUEST: json.dumps(asdict(self.request)).encode(),
            _GRAPH: self.graph,
            _PREPARED: self.prepared,
            _EVENTS: "\n".join(lines).encode(),
            _POLICY: self.policy,
        }
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in contents.items():
                archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED, compresslevel=9)


def read_example(path: Path = EXAMPLE) -> ExampleFile:
    """Read the file: it is ours, and a test holds that it fits this version."""
    with zipfile.ZipFile(path) as archive:
        request = Request(**json.loads(archive.read(_REQUEST)))
        events = [api.NumberedEvent.from_json(json.loads(line)) for line in archive.read(_EVENTS).splitlines()]
        return ExampleFile(request, archive.read(_GRAPH), archive.read(_PREPARED), events, archive.read(_POLICY))
