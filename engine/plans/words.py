"""What a search for plans has found, in words: the verdict, and what a plan does."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engine.number_words import counted
from engine.plans.usual import WORDS

AS_GOOD = 1e-3
"""a relative gap below which a usual plan is as good"""
MOST_NAMED = 4
"""replicas that are alike; more are counted"""


def plan_verdict(report: Mapping[str, Any]) -> str:
    """How fast the best plan is, beside the best usual one, and what it does: a sentence or two."""
    return _beside_usual(report) + _faster_estimate(report)


def _beside_usual(report: Mapping[str, Any]) -> str:
    best = report["plans"][0]
    usual = {name: plan for name, plan in report["usual"].items() if plan is not None and plan["replicas"]}
    does = plan_words(best, report["devices"])
    rate = rate_words(best["samples_per_second"])
    if not usual:
        return f"{rate}: {does}. None of the usual plans fits in memory or can be made."
    name = min(usual, key=lambda each: usual[each]["batch_time_us"])
    words, ahead = WORDS[name], plan_ahead(best, usual[name])
    if ahead is None or ahead < AS_GOOD:
        return f"Nothing that was found is faster than a usual plan, {words}: {rate}; {does}."
    return f"{rate}, {100 * ahead:.3g} % more than the best usual plan ({words}): {does}."


def _faster_estimate(report: Mapping[str, Any]) -> str:
    """A sentence on what is estimated to be faster than the best plan, such as sharding, which is no plan."""
    best_us = report["plans"][0]["batch_time_us"]
    estimates = {name: plan for name, plan in report["usual"].items() if plan is not None and not plan["replicas"]}
    words = [
        f" Not simulated, but faster: {WORDS[name]}, {rate_words(plan['samples_per_second'])}."
        for name, plan in estimates.items()
        if plan["batch_time_us"] < best_us
    ]
    return "".join(words)


def plan_ahead(best: Mapping[str, Any], plan: Mapping[str, Any]) -> float | None:
    """The share by which `best` has more samples a second than `plan`; None where a batch takes no time."""
    return plan["batch_time_us"] / best["batch_time_us"] - 1 if best["batch_time_us"] else None


def rate_words(samples_per_second: float | None) -> str:
    """`123.4 samples a second`."""
    if samples_per_second is None:
        return "any number of samples a second"
    number = f"{samples_per_second:,.0f}" if samples_per_second >= 1000 else f"{samples_per_second:.4g}"
    return f"{number} samples a second"


def plan_words(plan: Mapping[str, Any], names: Sequence[str]) -> str:
    """`4 replicas: GPU:0 and GPU:1 take 20 of 64 samples each, GPU:2 and GPU:3 take 12 each`; `names` [devices]."""
    replicas = plan["replicas"]
    batch = sum(_samples(row) for row in replicas)
    alike: dict[tuple[int, str], list[str]] = {}
    for row in sorted(replicas, key=lambda each: -_samples(each)):
        alike.setdefault((_samples(row), _size_words(row, names)), []).append(replica_words(row, names))
    parts = [
        _share_words(members, *key, of=batch if first else None)
        for first, (key, members) in zip([True, *[False] * len(alike)], alike.items(), strict=False)
    ]
    if len(parts) == 1 and len(replicas) > MOST_NAMED:
        return parts[0]
    return f"{counted(len(replicas), 'replica')}: {', '.join(parts)}"


def replica_words(row: Mapping[str, Any], names: Sequence[str]) -> str:
    """`GPU:0 + GPU:2`, or `(GPU:0 or GPU:1 in turn) + GPU:2` where devices take a stage's micro-batches in turn."""
    turns = {devices[0]: devices for devices in row["turns"]}
    later = {device for devices in row["turns"] for device in devices[1:]}
    own = [device for device in _used(row) if device not in later]
    return " + ".join(_turn_words(turns[each], names) if each in turns else _short(names[each]) for each in own)


def _turn_words(devices: Sequence[int], names: Sequence[str]) -> str:
    return f"({' or '.join(_short(names[device]) for device in devices)} in turn)"


def replica_devices(row: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """The short names of the devices on which a replica has groups; of all its devices where no groups are told."""
    return [_short(names[device]) for device in _used(row)]


def _used(row: Mapping[str, Any]) -> list[int]:
    if "device_of_group" not in row:
        return [*row["devices"]]
    return sorted({*np.unique(row["device_of_group"]).tolist(), *itertools.chain(*row["turns"])})


def _short(name: str) -> str:
    return name.removeprefix("/device:")


def _size_words(row: Mapping[str, Any], names: Sequence[str]) -> str:
    """`one device`, `3 devices`, `3 devices, stages in turn,`."""
    count = len(replica_devices(row, names))
    return ("one device" if count == 1 else f"{count:,} devices") + (", stages in turn," if row["turns"] else "")


def _samples(row: Mapping[str, Any]) -> int:
    samples: int = row["micro_batch"] * row["micro_batches"]
    return samples


def _share_words(members: Sequence[str], samples: int, size: str, of: int | None) -> str:
    """What replicas that are alike take; `of`: the batch, where it is to be said."""
    share = f"{samples:,}" if of is None else f"{samples:,} of {of:,} samples"
    if len(members) == 1:
        return f"{members[0]} takes {share}"
    if len(members) <= MOST_NAMED:
        return f"{', '.join(members[:-1])} and {members[-1]} take {share} each"
    return f"{len(members):,} replicas of {size} take {share} each"
