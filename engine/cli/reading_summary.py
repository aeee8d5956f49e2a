"""What was read of a graph as lines of text, made of the summary (`PreparedGraph.summary()`); a key may be null.

The graph's page says the same in `webapp/pages/graphs/reading_summary.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine import api
from engine.errors import shortened
from engine.number_words import bytes_words, counted, flops_words, part_words, time_words

Summary = Mapping[str, Any]
"""a summary of our own engine, whose fields have the types that `PreparedGraph.summary` gives them"""

UNKNOWN_SHOWN = 10
"""most ops of unknown cost to name"""
ROWS_SHOWN = 20
"""loops, branches and sizes that are named, of each"""
TYPES_SHOWN = 12
"""most types of ops of unknown cost to name"""
DEVICES_SHOWN = 16
"""most devices to name, to which the file fixes ops"""
TYPED_AGAIN = 1000
"""characters of a name that a person may have to type, after `--trips` or `--size`"""


def what_was_read(summary: Summary) -> Iterator[str]:
    """All lines, in the order of the graph's page."""
    yield f"Graph: {shortened(summary['name'])}"
    counts = {"op": summary["ops"], "type": len(summary["types"]), "edge": summary["edges"], "group": summary["groups"]}
    yield ", ".join(counted(count, noun) for noun, count in counts.items())
    output, persistent = (bytes_words(summary[key]) for key in ("output_bytes", "persistent_bytes"))
    yield f"Outputs: {output}; variables: {persistent}"
    yield from _flops(summary)
    yield from _layers(summary)
    yield from _read_as(summary)
    yield f"Op times: {_shares(summary['sources'])}"
    steps = ", ".join(f"{_kind(kind)} {_step(time)}" for kind, time in summary["one_device_us"].items())
    yield f"Simulated step on one device, with the time to launch each op: {steps}"
    times = ", ".join(f"{_kind(kind)} {time_words(time)}" for kind, time in summary["time_us"].items())
    yield f"Ops alone, without rests: {times}"
    yield from summary["notes"]
    yield from _loops(summary)
    yield from _branches(summary)
    yield from _sizes(summary)
    if types := summary["unknown_types"]:
        yield f"Types of ops without a known cost: {_types(types)}"
    yield from _unknown_ops(summary)
    yield from _devices(summary)


def left_to_people(summary: Summary) -> Iterator[str]:
    """The lines on choices that only a person can make, or that a person should know before a run."""
    yield from _unknown_ops(summary)
    yield from _devices(summary)


def _flops(summary: Summary) -> Iterator[str]:
    """The FLOPs of a step, and the shares of them that are estimated, bounded and so on."""
    if summary["flops"] is None:
        yield "FLOPs of a step: not counted"
        return
    by_source, flops = summary["flops_by_source"], flops_words(summary["flops"])
    shares = _shares(by_source, counts=False) if by_source else ""
    if heavy := summary["heavy_unknown"]:
        ops = sum(count for _, count in heavy)
        of_known = f" Of the known FLOPs {shares}." if len(by_source) > 1 else ""
        what = "1 op that may be heavy is" if ops == 1 else f"{ops} ops that may be heavy are"
        yield f"FLOPs of a step: at least {flops}; {what} unknown: {_types(heavy)}.{of_known}"
    else:
        yield f"FLOPs of a step: {flops}{': ' * bool(shares)}{shares}"


def _layers(summary: Summary) -> Iterator[str]:
    """The parameters, and the layers with most FLOPs in the order of the graph."""
    layers = summary["layers"]
    if not layers:
        return
    if layers[0]["parameters"] is not None:
        variables, constants = (sum(layer[key] for layer in layers) for key in ("parameters", "constants"))
        places = [f"{variables:,} in variables"] * bool(variables) + [f"{constants:,} in constants"] * bool(constants)
        if places:
            yield f"Parameters: {', '.join(places)}"
    if len(layers) == 1 or not summary["flops"]:
        return
    largest = sorted(layers, key=lambda layer: (-layer["flops"], layer["name"]))[:ROWS_SHOWN]
    names = {layer["name"] for layer in largest if layer["flops"]}
    shown = [layer for layer in layers if layer["name"] in names]
    known = "known " * bool(summary["heavy_unknown"])
    yield f"Layers: {len(layers)}{f'; the {len(shown)} with most {known}FLOPs' if len(shown) < len(layers) else ''}"
    for layer in shown:
        share = part_words(layer["flops"] / summary["flops"])
        held = f", {layer['parameters'] + layer['constants']:,} parameters" if layer["parameters"] is not None else ""
        work = f"{flops_words(layer['flops'])} {known}FLOPs ({share})"
        yield f"  {shortened(layer['label'])}: {work}{held}, {counted(layer['ops'], 'op')}"


def _read_as(summary: Summary) -> Iterator[str]:
    """The format, and the options that differ from the defaults."""
    options = summary["options"]
    given = [f"signature {shortened(options['signature'])}"] if options.get("signature") else []
    if options.get("tags") is not None:
        given.append(f"tags {shortened(api.tags_text(options['tags']))}")
    if fetches := options.get("fetches"):
        given.append(f"fetches {shortened(', '.join(fetches), TYPED_AGAIN)}")
    if options.get("batch_size") is not None:
        given.append(f"batch size {options['batch_size']}")
    shapes = {name: api.shape_words(shape) for name, shape in (options.get("input_shapes") or {}).items()}
    counts = ("input shape", shapes), ("trips", options.get("trips")), ("size", options.get("sizes"))
    given += [f"{word} {shortened(name)}={value}" for word, named in counts for name, value in (named or {}).items()]
    given += ["weights may wait in CPU memory"] * bool(options.get("offload"))
    if summary["format"] or given:
        yield f"Read as: {', '.join(filter(None, [summary['format'], *given]))}"


def _loops(summary: Summary) -> Iterator[str]:
    loops = summary["loops"]
    if not loops:
        return
    yield f"Loops: {len(loops)}"
    for loop in loops[:ROWS_SHOWN]:
        trips, ops = counted(loop["trips"], "trip"), counted(loop["ops"], "op")
        yield f"  {shortened(loop['name'], TYPED_AGAIN)}: {trips} ({api.TRIPS_FROM[loop['source']]}) of {ops}"
    yield from _more(len(loops), ROWS_SHOWN)
    if any(loop["source"] in api.OPEN_TRIPS and loop["source"] != "given" for loop in loops):
        yield "  Give the trips of a loop with --trips NAME=N."


def _branches(summary: Summary) -> Iterator[str]:
    branches = summary["branches"]
    if not branches:
        return
    yield f"Branches: {len(branches)}. One side of each counts: the one that the file picks, else the costlier one."
    for branch in branches[:ROWS_SHOWN]:
        ops = f"{branch['ops_not_taken']} of {branch['ops']} ops do not"
        yield f"  {shortened(_shown(summary, branch['name']))}: {shortened(branch['taken'])} counts, {ops}"
    yield from _more(len(branches), ROWS_SHOWN)


def _sizes(summary: Summary) -> Iterator[str]:
    sizes = summary["sizes"]
    if not sizes:
        return
    yield f"Sizes that depend on data: {len(sizes)}"
    for size in sizes[:ROWS_SHOWN]:
        length = "" if size["length"] is None else f"{size['length']}, "
        words = f"{length}{api.SIZES_FROM[size['source']]}"
        yield f"  {shortened(size['name'], TYPED_AGAIN)} ({shortened(size['type'])}): {words}"
    yield from _more(len(sizes), ROWS_SHOWN)
    if any(size["source"] != "given" for size in sizes):
        yield "  Give the length that the data will have with --size NAME=N."


def _shares(sums: Mapping[str, float], *, counts: bool = True) -> str:
    """`480 estimated (97 %), 16 unknown (3 %)`, or `97 % estimated, 3 % bounded`; the largest first."""
    total = sum(sums.values())
    rows = sorted(sums.items(), key=lambda row: (-row[1], row[0]))
    if counts:
        return ", ".join(f"{count} {source} ({part_words(count / total)})" for source, count in rows)
    return ", ".join(f"{part_words(count / total)} {source}" for source, count in rows)


def _types(types: Sequence[tuple[str, int]]) -> str:
    """`MatMul × 2, Relu × 1, …`."""
    named = [f"{shortened(op_type) or 'no type'} × {count}" for op_type, count in types[:TYPES_SHOWN]]
    return f"{', '.join(named)}{', …' if len(types) > TYPES_SHOWN else ''}"


def _open_inputs(summary: Summary) -> Iterator[str]:
    """The inputs whose lengths stay open, as the option that closes them."""
    if not (rows := summary["open_inputs"]):
        return
    yield f"Inputs whose shapes stay open: {len(rows)}. Give their lengths, a number for each ?:"
    for row in rows[:ROWS_SHOWN]:
        name = shortened(row["name"], TYPED_AGAIN)
        yield f"  --input-shape {name}={row['shape'] or 'LENGTHS'}"
    yield from _more(len(rows), ROWS_SHOWN)


def _unknown_ops(summary: Summary) -> Iterator[str]:
    """The first ops of unknown cost with the reasons, and whether a batch size would help."""
    if unknown := summary["unknown_ops"]:
        yield f"Ops without a known cost: {unknown}. Their times and bytes are lower bounds."
        for name, op_type, why in summary["unknown"][:UNKNOWN_SHOWN]:
            shown = shortened(_shown(summary, name))
            yield f"  {shown} ({shortened(op_type)}): {why}" if op_type else f"  {shown}: {why}"
        yield from _more(unknown, UNKNOWN_SHOWN)
    if summary["batch_helps"]:
        known, of_all = summary["batch_helps"]
        if known:
            of_many = f"all {of_all} of these ops" if known == of_all else f"{known} of these {of_all} ops"
            costs = "cost of this op" if of_all == 1 else f"costs of {of_many}"
            yield f"A batch size (--batch-size N) makes the {costs} known."
    yield from _open_inputs(summary)


def _devices(summary: Summary) -> Iterator[str]:
    """The ops that need a CPU or a GPU, with reasons, and those that the file fixes, by device."""
    for key, device_class in (("cpu_ops", "CPU"), ("gpu_ops", "GPU")):
        ops = summary[key]
        if ops["ops"]:
            alone = "They run on GPUs alone." if summary["options"].get("offload") else "No CPU can run them."
            where = "They go to the cluster's CPUs, if it has any." if key == "cpu_ops" else alone
            yield f"Ops that need a {device_class}: {ops['ops']}. {where}"
            for reason, count, names in ops["reasons"]:
                dots = ", …" if count > len(names) else ""
                shown = ", ".join(shortened(_shown(summary, name)) for name in names)
                yield f"  {reason}: {count}: {shown}{dots}"
    fixed = summary["fixed_ops"]
    if fixed["ops"]:
        by_device = [f"{shortened(device)} × {count}" for device, count in fixed["by_device"][:DEVICES_SHOWN]]
        dots = ", …" * (fixed["devices"] > DEVICES_SHOWN)
        yield f"Ops that the file fixes to a device: {fixed['ops']}: {', '.join(by_device)}{dots}"
        yield "  A run keeps them there; with --drop-devices it ignores the devices of the file."


def _shown(summary: Summary, name: str) -> str:
    """The name of an op or scope that nobody types again, as the pages show it."""
    return str(summary["short_names"].get(name, name))


def _kind(kind: str) -> str:
    return "any device" if kind == "*" else kind


def _step(time_us: float | None) -> str:
    return "cannot run all ops" if time_us is None else time_words(time_us)


def _more(count: int, shown: int) -> Iterator[str]:
    if count > shown:
        yield f"  and {count - shown} more"
