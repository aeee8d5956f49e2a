"""Makes the example and the picture of the home page anew: python -m webapp.example. Two minutes on two cores.

The same version makes the same files, but for the seconds that the events report. `--picture` draws the picture alone.
"""

import sys
import tempfile
from pathlib import Path

from engine import api
from webapp.example.example_file import EXAMPLE, ExampleFile, Request, read_example
from webapp.example.picture import picture_of

REQUEST = Request("inception_v3", "2xK80+cpu", "placeto", evaluations=2000, seed=0)
PICTURE = Path(__file__).parents[1] / "pages" / "home" / "picture.html"


def main() -> None:
    """Write the files."""
    if sys.argv[1:] != ["--picture"]:
        example = _made()
        example.write(EXAMPLE)
        print(f"{EXAMPLE}: {EXAMPLE.stat().st_size} bytes, {example.report['step_time_us']} µs")
    PICTURE.write_text(picture_of(read_example()))


def _made() -> ExampleFile:
    """Build the graph, read it, carry out the run."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "graph.pb"
        api.build(REQUEST.sample, source, _report_progress)
        name = api.samples()[REQUEST.sample]
        prepared = api.prepare(source, ".pb", _report_progress, api.Limits(), name=name)
        events: list[api.NumberedEvent] = []
        policies: list[bytes] = []

        def emit(item: api.Emitted) -> None:
            if isinstance(item, api.NumberedEvent):
                events.append(item)
            elif isinstance(item, api.LearnedPolicy):
                policies.append(item.policy)

        api.place(prepared, REQUEST.run(), emit, lambda: False)
        return ExampleFile(REQUEST, source.read_bytes(), prepared.to_bytes(), events, policies[-1])


def _report_progress(stage: str, done: int, total: int) -> None:
    print(f"{stage} {done}/{total}" if total else stage, file=sys.stderr)


if __name__ == "__main__":
    main()
