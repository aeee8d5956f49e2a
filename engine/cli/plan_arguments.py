"""The arguments that say for what a plan is sought, and what is read of them: a model at one or two batches, rules."""

import argparse
import dataclasses
from pathlib import Path

from engine import api
from engine.cli.graph_arguments import add_graph, add_seed, cluster_of, prepared_graph, print_progress
from engine.cli.reading_arguments import reading_options
from engine.errors import SettingsError, shortened
from engine.files.destinations import require_apart, require_writable


def add_planning(parser: argparse.ArgumentParser, seconds: float, of_what: str) -> None:
    """Add the graph and its cluster with prices, `--batch`, the second reading, `--seconds`, `--seed` and the rules."""
    add_graph(parser)
    parser.add_argument(
        "--batch", type=int, required=True, metavar="B", help="samples of a batch, of all replicas together"
    )
    parser.add_argument(
        "--price",
        action="append",
        default=[],
        metavar="KIND=PRICE",
        help="what an hour of each device of a kind costs you, in any currency, once for each kind: RTX4090=0.35",
    )
    parser.add_argument(
        "--second",
        type=Path,
        metavar="GRAPH",
        help="the same step read at another batch, so that micro-batches may have any size",
    )
    parser.add_argument(
        "--second-batch-size",
        type=int,
        metavar="N",
        help="of TensorFlow's and ONNX files, whose --batch-size says of how many samples they are a step: read the "
        "file of --second, or else the same file, as one of so many",
    )
    parser.add_argument("--seconds", type=float, default=seconds, help=f"{of_what} (default %(default)s)")
    add_seed(parser)
    parser.add_argument(
        "--pipeline",
        metavar="|".join(api.Pipeline),
        help="the order in which the stages of a replica take micro-batches (default 1f1b with a backward pass, else "
        "inference)",
    )
    parser.add_argument(
        "--recompute",
        metavar="|".join(api.Recompute),
        help="stages keep what they were given alone and run again before their backward pass (default none)",
    )
    parser.add_argument(
        "--contiguous",
        action="store_true",
        help="a device runs one contiguous part of each pass, as PyTorch's pipelining requires",
    )
    parser.add_argument(
        "--shard-optimizer",
        action="store_true",
        help="each replica keeps and updates its part of the optimizer's state alone (ZeRO-1)",
    )
    parser.add_argument(
        "--all-reduce",
        choices=list(api.Algorithm),
        default=str(api.Algorithm.FASTEST),
        help="how replicas add up gradients (default %(default)s)",
    )


def require_report(parsed: argparse.Namespace) -> None:
    """Raise SettingsError unless `--report` can be written, as none of the files that are read."""
    require_writable("--report", parsed.report)
    read = {"the graph": parsed.graph, "--second": parsed.second, "--profile": parsed.profile}
    require_apart({"--report": parsed.report}, read)


def priced_cluster(parsed: argparse.Namespace) -> api.Cluster:
    """The cluster of `--cluster` with the prices of `--price`. Raises ClusterError, SettingsError."""
    cluster, prices = cluster_of(parsed), {}
    kind_of_name = {device.kind.lower(): device.kind for device in cluster.devices}
    for text in parsed.price:
        name, price = _price(text)
        kind = kind_of_name.get(name.lower(), name)
        if kind in prices:
            raise SettingsError(f"{shortened(kind)} is there twice", where="--price", allowed="each kind once")
        prices[kind] = price
    return api.with_prices(cluster, prices)


def _price(text: str) -> tuple[str, float]:
    """The kind and the price of `RTX4090=0.35`. Raises SettingsError."""
    name, _, number = text.partition("=")
    try:
        return name.strip(), float(number)
    except ValueError:
        what, allowed = f"{shortened(text)} is no price", "KIND=PRICE, such as RTX4090=0.35"
        raise SettingsError(what, where="--price", allowed=allowed) from None


def model_of(parsed: argparse.Namespace) -> api.ModelByBatch:
    """Read the model at one or two batches. Raises GraphError, SettingsError."""
    first = prepared_graph(parsed)
    if parsed.second is None and parsed.second_batch_size is None:
        return api.model_by_batch([first])
    return api.model_by_batch([first, _second(parsed)])


def _second(parsed: argparse.Namespace) -> api.PreparedGraph:
    """The second reading. Raises SettingsError for the file of the first one, read in the same way."""
    path: Path = parsed.second or parsed.graph
    options = reading_options(parsed)
    if parsed.second_batch_size is not None:
        options = dataclasses.replace(options, batch_size=parsed.second_batch_size)
    elif path.absolute() == parsed.graph.absolute():
        raise SettingsError("both are one file", where="--second", allowed="a reading at another batch")
    return api.prepare(path, api.suffix_of(path.name), print_progress, api.Limits(), parsed.groups, options=options)


def plan_request(parsed: argparse.Namespace, cluster: api.Cluster, model: api.ModelByBatch) -> api.PlanRequest:
    """What is asked of a search on `cluster`. Raises SettingsError."""
    pipeline = api.usual_pipeline(model.prepared.graph) if parsed.pipeline is None else api.pipeline_of(parsed.pipeline)
    recompute = api.Recompute.NONE if parsed.recompute is None else api.recompute_of(parsed.recompute)
    algorithm = api.Algorithm(parsed.all_reduce)
    rules = api.PlanRules(pipeline, recompute, parsed.shard_optimizer, algorithm, parsed.contiguous)
    return api.PlanRequest(cluster, parsed.batch, rules, parsed.seconds, parsed.seed, drop_devices=parsed.drop_devices)
