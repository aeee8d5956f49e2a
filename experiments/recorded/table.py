"""How many architectures of timm, torchvision and transformers are recorded, read and placed with a device map."""

import hashlib
import json
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from engine import VERSION
from engine.events import Json
from experiments.architectures.forked import CLIENT, ForkLimits, Forks, row_of_case
from experiments.architectures.sentences import without_folders
from experiments.folders import ROOT
from experiments.grid import KeptResults, Measurement, of_any_code
from experiments.keeping.code_state import DIGITS, meaning
from experiments.pages import ReportLine, table_line, table_of_figures, write_page, write_rows

COMMAND = "python -m experiments recorded"
NAME = "recorded"
LIST = Path(__file__).with_name("list.json")
LIMITS = ForkLimits(processor_seconds=300, memory_bytes=16 * 2**30)
"""of one architecture"""
TELL_ROW = "experiments.recorded.child:tell_row"
ARCHITECTURES = ROOT / "experiments" / "architectures"
STEPS = ("build", "record", "read", "place", "write", "check")


def run(folder: Path, report: ReportLine) -> str:
    """Measure what is missing, write `folder`/recorded.{md,json}, and return the page.

    What failed is tried again where the recorder, the formats or the experiment are others since.
    """
    kept = KeptResults(folder / "kept" / f"{NAME}.jsonl", also=of_any_code)
    drawn = json.loads(LIST.read_text())
    missing = [case for case in drawn["cases"] if _is_missing(kept, case)]
    for number, (case, row) in enumerate(zip(missing, measured(missing), strict=True), 1):
        kept.add(case, row | {"steps": steps_state()})
        words = f"{row['failed']}: {row['sentence']}" if "failed" in row else f"{row['ops']:,} ops"
        report(f"{number} of {len(missing)}: {case['library']} {case['name']} {case['mode']}: {words}")
    keys: list[Measurement] = list(drawn["cases"])
    rows = [dict(key) | kept[key] for key in keys]
    write_rows(folder, NAME, rows, indent=1)
    return write_page(folder, NAME, page(drawn, rows, kept.made(keys)))


def _is_missing(kept: KeptResults, case: Mapping[str, Any]) -> bool:
    return case not in kept or ("failed" in kept[case] and kept[case]["steps"] != steps_state())


def measured(cases: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Json]]:
    """The rows of architectures, each from a child process with limits."""
    if cases:
        with Forks(TELL_ROW, LIMITS) as forks:
            for case in cases:
                yield row_of_case(forks, case)


@cache
def steps_state() -> str:
    """The digest of the recorder, the formats and this experiment; comments and docstrings do not count."""
    digest = hashlib.sha256()
    for folder in (CLIENT / "placeto", ROOT / "engine" / "formats", ARCHITECTURES, Path(__file__).parent):
        for path in sorted(folder.rglob("*.py")):
            if path.name != Path(__file__).name:  # which makes the page
                digest.update(f"{path.relative_to(ROOT)}\n{meaning(path.read_text())}\n".encode())
    return digest.hexdigest()[:DIGITS]


def page(drawn: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], made: str) -> str:
    """The whole page; `made` says by which states of the code."""
    failed = [row for row in rows if "failed" in row]
    states = sorted({row["steps"] for row in rows})
    population = drawn["population"]
    parts = [
        f"# Architectures drawn at random: {len(rows) - len(failed)} of {len(rows)} get a device map",
        "For those who want to know whether their own PyTorch model can be recorded and placed.",
        "\n".join(_by_library(rows)),
        f"Drawn with seed {drawn['seed']} from {population['timm']:,} architectures of timm,\n"
        f"{population['torchvision']} of torchvision and {population['transformers']} model types of transformers,\n"
        "each for training (AdamW) or for inference by the toss of a coin; batch 2, real sizes. Each is built without\n"
        "weights, recorded, read, and placed by Auto with 60 evaluations (1,000 where none of these fits) on\n"
        "2 × RTX 4090 and an RTX 3090. Its device map is written, read back as the same placement of all modules, and\n"
        "checked by accelerate against the model. The parameters of the recording are compared with the model's own.",
        *_failures(failed),
        *_unknown(rows),
        "\n".join(_seconds(rows)),
        _of_transformers(drawn),
        f"`{COMMAND}`; Placeto Explorer {VERSION}, {made};\nrecorder and formats {', '.join(states)}.\n"
        "A row that has come to its end with one of these is not measured again.",
    ]
    return "\n\n".join(parts) + "\n"


def _by_library(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    head = ("library", "drawn", "get a device map", "of them trained", "ops, median", "equal parameters")
    lines = []
    for library in (*dict.fromkeys(row["library"] for row in rows), None):
        own = [row for row in rows if library in (None, row["library"])]
        whole = [row for row in own if "failed" not in row]
        recorded = [row for row in own if "ops" in row]
        trained = [row for row in whole if row["mode"] == "training"]
        equal = sum(row["parameters"] == row["parameters_recorded"] for row in recorded)
        ops = f"{statistics.median(row['ops'] for row in recorded):,.0f}" if recorded else "–"
        figures = (str(len(own)), str(len(whole)), str(len(trained)), ops, f"{equal} of {len(recorded)}")
        lines.append([library or "all", *figures])
    return table_of_figures(head, lines)


def _failures(failed: Sequence[Mapping[str, Any]]) -> list[str]:
    if not failed:
        return []
    lines = [("library", "architecture", "", "step", "what it says"), ("---",) * 5]
    for row in failed:
        sentence = without_folders(row["sentence"]).replace("|", "\\|")
        lines.append((row["library"], row["name"], row["mode"], row["failed"], sentence))
    return ["## Those that get none", "\n".join(map(table_line, lines))]


def _unknown(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    counts: Counter[str] = Counter()
    models: Counter[str] = Counter()
    for row in rows:
        counts.update(row.get("without_formula", {}))
        models.update(row.get("without_formula", {}).keys())
    ops = sum(row.get("ops", 0) for row in rows)
    if not counts:
        return [f"## Ops without a formula\n\nNone of {ops:,}."]
    lines = [[name, f"{count:,}", str(models[name])] for name, count in counts.most_common()]
    words = f"{sum(counts.values()):,} of {ops:,} ops; each takes the time of its bytes."
    return ["## Ops without a formula", words, "\n".join(table_of_figures(("op", "ops", "architectures"), lines))]


def _seconds(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = ["## Seconds of each step", ""]
    table = []
    for step in STEPS:
        seconds = sorted(row["seconds"][step] for row in rows if step in row.get("seconds", {}))
        if seconds:
            table.append([step, f"{statistics.median(seconds):.1f}", f"{seconds[-1]:.1f}"])
    return [*lines, *table_of_figures(("step", "median", "most"), table)]


def _of_transformers(drawn: Mapping[str, Any]) -> str:
    small = sum(bool(case["changes"]) for case in drawn["cases"])
    passed: Mapping[str, str] = drawn["passed_over"]
    kinds = (
        ("more than", "have more than 2 billion parameters with 4 layers and 16 experts"),
        ("it requires", "require arguments other than tokens, images and sound, most of them parts of larger models"),
        ("", "do not build by their default configuration"),
    )
    counts: Counter[str] = Counter()
    for reason in passed.values():
        counts[next(words for start, words in kinds if reason.partition(": ")[2].startswith(start))] += 1
    words = ",\n".join(f"{counts[each]} {each}" for _, each in kinds if counts[each])
    passed_over = f"{len(passed)} {'type was' if len(passed) == 1 else 'types were'}"
    return (
        "## Of transformers\n\n"
        "A type has its default configuration and its causal language model where there is one, else its plain model.\n"
        f"{small} have fewer layers or experts than that, since they had more than 2 billion parameters; list.json\n"
        f"beside the experiment says how many. {passed_over} passed over while drawing:\n{words}."
    )
