"""The page of the corpus: kinds, families, failures, and how it was made."""

import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from engine import VERSION
from experiments.corpus.cached import CORPUS_SPLITS, MODES
from experiments.corpus.lineage import FAMILIES, KINDS
from experiments.corpus.recording_words import BUILD
from experiments.corpus.split import DEVELOPMENT_SHARE, TEST_SHARE, split_of_families
from experiments.pages import left_rule, table_line, table_of_figures

Rows = Sequence[Mapping[str, Any]]
REASONS = (
    (r"depends on the values of the data", "what the model does depends on the values of its data"),
    (r"more than [\d,]+ parameters", "it is too large, with few layers too"),
    (r"it requires|no \w+ is made here|missing \d+ required", "it needs inputs that the experiment does not make"),
    (r"takes (more|longer) than", "it takes too long"),
    (r"MemoryError|OutOfMemory|can't allocate", "it takes too much memory"),
    (r"process died", "its process died"),
    (r"ImportError|requires the .* library", "it needs a library that is not installed"),
    (r"nothing to train|has no attribute 'mean'|stack expects a non-empty", "what it returns cannot be trained on"),
)
"""what a sentence says → the reason in words"""
USE = (
    "\nOther experiments take graphs of a side with `experiments.corpus.cached.graphs_of`, and problems on a cluster\n"
    "with `problem_in_corpus`."
)
NO_MODEL = "its default configuration builds no model"
DOES_NOT_RUN = "it does not run with its default configuration and what it is called with here"


def page(listed: Mapping[str, Rows], population: Mapping[str, int], command: str, cost: str, made: str) -> str:
    """The whole page; `cost` says sizes and seconds of the cache, `made` by which state of the code."""
    graphs, failures = listed["graphs"], listed["failures"]
    counted = [row for row in graphs if "duplicate_of" not in row]
    names = {(row["library"], row["architecture"]) for row in graphs}
    families = {row["family"] for row in graphs}
    figures = f"{len(names)} architectures of {len(families)} families, {len(graphs):,} graphs"
    parts = [
        f"# The corpus: {figures}",
        "For those who train and compare methods: real architectures as graphs, what there is of each kind, and on\n"
        "which side of the split it stands.",
        f"    {command}      # records what its cache lacks, and writes this page; Placeto Explorer {VERSION}",
        "\n".join(_by_kind(graphs)),
        _how(graphs, counted, population),
        _split_words(counted),
        "## Cache\n\n" + cost + USE,
        "## By library",
        "\n".join(_by_library(graphs, failures)),
        "## Families",
        "\n".join(_by_family(graphs)),
        *_near_duplicates(graphs),
        *_failures(failures),
        f"Made by {made}.",
    ]
    return "\n\n".join(parts) + "\n"


def _by_kind(graphs: Rows) -> list[str]:
    head = ("kind", "families", "architectures", *MODES, "near-duplicates", *CORPUS_SPLITS, "ops", "groups")
    lines = []
    for kind in (*KINDS, None):
        own = [row for row in graphs if kind in (None, row["kind"])]
        if own:
            counted = [row for row in own if "duplicate_of" not in row]
            lines.append(
                [
                    kind or "all",
                    str(len({row["family"] for row in own})),
                    str(len({(row["library"], row["architecture"]) for row in own})),
                    *(f"{sum(row['mode'] == mode for row in own):,}" for mode in MODES),
                    str(len(own) - len(counted)),
                    *(f"{sum(row['split'] == split for row in counted):,}" for split in CORPUS_SPLITS),
                    _middle(own, "ops"),
                    _middle(own, "groups"),
                ]
            )
    return [
        *table_of_figures(head, lines),
        "",
        "The sides of the split count graphs without near-duplicates; ops and groups are medians.",
    ]


def _middle(rows: Rows, key: str) -> str:
    return f"{statistics.median(row[key] for row in rows):,.0f}"


def _how(graphs: Rows, counted: Rows, population: Mapping[str, int]) -> str:
    libraries = ", ".join(f"{count:,} of {library}" for library, count in population.items())
    versions = ", ".join(
        sorted({f"{row['library']} {row['version']}" for row in graphs if row["library"] in population})
    )
    whole, split = (
        len({row["architecture"] for row in graphs if row.get("blocks") == blocks}) for blocks in ("whole", "split")
    )
    return (
        "## How it is made\n\n"
        f"Drawn from the names of the libraries ({libraries};\n{versions}):\n"
        "of a small family all, of a large one twice the root of their number and at most 25, by the SHA-256 of their\n"
        "names. transformers has the default of each type, with few layers and experts where it has more than 2\n"
        "billion parameters, and published sizes beside. Each model is built without weights and recorded on shapes\n"
        "alone for inference and for training with AdamW, at the largest power of two up to 256 samples with which a\n"
        "training step takes at most 20 GB: 16 bytes a parameter and all outputs of the forward pass. Texts have 512\n"
        "tokens, 16 where layers take them one after another. The blocks that models of transformers ask to keep\n"
        f"whole stay whole in {whole} of them, drawn by SHA-256; in {split} a placement may split them, which gives\n"
        "more groups.\n"
        "Keras's models run on its PyTorch backend. The zoo and the engine's families are TensorFlow graphs with\n"
        "estimated costs; public graphs come with times of one device, where their folder is there. Groups are those\n"
        "that a run shows by default, the levels below are kept too.\n\n"
        f"{len(graphs) - len(counted)} graphs are near-duplicates of another one of the mode: their group graphs are\n"
        "equal up to scale, or ops are joined alike and at most 5 % of the time and of the bytes lies elsewhere. Each\n"
        "counts once."
    )


def _split_words(counted: Rows) -> str:
    sides = split_of_families()
    families = Counter(sides.values())
    graphs = Counter(row["split"] for row in counted)
    words = ", ".join(f"{split} {families[split]} families and {graphs[split]:,} graphs" for split in CORPUS_SPLITS)
    return (
        "## Split\n\n"
        "A family is by lineage, whatever library a variant comes from: `experiments/corpus/families.txt`, pattern\n"
        "by pattern. Within each kind the families in the order of the SHA-256 of their names fill test up to\n"
        f"{TEST_SHARE:.0%}, development up to {DEVELOPMENT_SHARE:.0%}, then training; the families of the zoo are\n"
        "tests besides, and members of the engine's families keep their own split. Table and rule were committed\n"
        f"before the recordings were complete and before anything was trained on them:\n{words}.\n"
        "A near-duplicate on two sides counts on the test side, so that nothing equal to a test graph is trained on."
    )


def _by_library(graphs: Rows, failures: Rows) -> list[str]:
    lines = []
    for library in dict.fromkeys(row["library"] for row in graphs):
        own = [row for row in graphs if row["library"] == library]
        lines.append(
            [
                f"{library} {own[0]['version']}".strip(),
                str(len({row["architecture"] for row in own})),
                *(str(sum(row["mode"] == mode for row in own)) for mode in MODES),
                str(sum(row["library"] == library for row in failures)),
                _middle(own, "ops"),
            ]
        )
    return table_of_figures(("library", "architectures", *MODES, "failures", "ops, median"), lines)


def _by_family(graphs: Rows) -> list[str]:
    head = ("family", "kind", "split", "architectures", "graphs", "near-duplicates", "ops", "groups", "GFLOP")
    lines = [table_line(head), left_rule(3) + " ---: |" * (len(head) - 3)]
    sides = split_of_families()
    for family in FAMILIES:
        own = [row for row in graphs if row["family"] == family.name]
        if own:
            own_sides = {row["split"] for row in own}
            cells = [
                family.name,
                family.kind,
                sides[family.name] if own_sides == {sides[family.name]} else "its own",
                str(len({(row["library"], row["architecture"]) for row in own})),
                str(len(own)),
                str(sum("duplicate_of" in row for row in own)),
                _range([row["ops"] for row in own]),
                _range([row["groups"] for row in own]),
                _range([row["flops"] / 1e9 for row in own]),
            ]
            lines.append(table_line(cells))
    return lines


def _range(values: Sequence[float]) -> str:
    least, most = f"{min(values):,.0f}", f"{max(values):,.0f}"
    return least if least == most else f"{least}–{most}"


def _near_duplicates(graphs: Rows) -> list[str]:
    rest = [row for row in graphs if "duplicate_of" in row]
    across = sum(
        row["split"] != other["split"] for row in rest for other in graphs if other["name"] == row["duplicate_of"]
    )
    if not rest:
        return []
    lines = [table_line(("near-duplicate", "counts as")), left_rule(2)]
    lines += [table_line((row["name"], row["duplicate_of"])) for row in rest]
    words = f"{len(rest)}, of which {across} are on another side than the graph that counts."
    return ["## Near-duplicates", words, "\n".join(lines)]


def reason_of(step: str, sentence: str) -> str:
    """The kind of a failure in words."""
    other = NO_MODEL if step == BUILD else DOES_NOT_RUN
    return next((words for pattern, words in REASONS if re.search(pattern, sentence)), other)


def _failures(failures: Rows) -> list[str]:
    if not failures:
        return []
    counts = Counter((row["failed"], reason_of(row["failed"], row["sentence"])) for row in failures)
    lines = [[reason, step, str(count)] for (step, reason), count in counts.most_common()]
    rows = [table_line(("graph", "step", "what it says")), left_rule(3)]
    for row in failures:
        sentence = row["sentence"].replace("|", "\\|")
        rows.append(table_line((row["name"], row["failed"], sentence)))
    return [
        "## Failures by reason",
        f"{len(failures)} graphs; each row of the second table is one of them.",
        "\n".join(table_of_figures(("reason", "step", "graphs"), lines)),
        "\n".join(rows),
    ]
