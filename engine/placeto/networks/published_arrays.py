"""The published networks without torch: their forward pass on arrays, for pages that show a run's decisions.

`published` says what each part is; `tests/engine/placeto/test_published_arrays.py` holds them equal.
"""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from engine.placeto.networks.head_arrays import Array, softmax_over_allowed
from engine.placeto.seeing.features import GroupGraph
from engine.placeto.seeing.reachability import reachability
from engine.placeto.seeing.start_times import GroupStartTimes
from engine.placeto.settings import PlacetoSettings

NUMBERS_A_PART = 2**20
"""most groups · decisions · features at once: some tens of MB"""
LEAST = np.float32(1e-9)


class PublishedArrays:
    """One of the published networks on one graph: its weights by name, as `weights.weights_of` gives them."""

    def __init__(
        self, weights: Mapping[str, NDArray[np.generic]], settings: PlacetoSettings, graph: GroupGraph
    ) -> None:
        self._weights = {name: np.asarray(array, dtype=np.float32) for name, array in weights.items()}
        self._network, self._rounds, self._graph = settings.network, settings.message_rounds, graph
        self._edges = graph.edge_source.astype(np.int64), graph.edge_target.astype(np.int64)
        groups = graph.group_count
        before = reachability(graph.edge_source, graph.edge_target, groups)
        apart = ~(before | before.T | np.eye(groups, dtype=bool))
        self._sets = np.stack([before, before.T, apart]).astype(np.float32)

    def probabilities_of_episode(
        self,
        start: NDArray[np.int32],
        order: NDArray[np.int32],
        actions: NDArray[np.int32],
        start_times: GroupStartTimes | None,
        explore: float,
    ) -> NDArray[np.float64]:
        """[steps, devices] the probability of each device at each step: see `head_arrays.probabilities_of_episode`.

        Without `start_times` the network saw none.
        """
        groups, devices = self._graph.allowed.shape
        steps_a_part = max(1, NUMBERS_A_PART // (groups * 2 * (5 + devices)))
        parts = self._states(start, order, actions, start_times, steps_a_part)
        scores = np.concatenate([self._scores(*part) for part in parts]) + self._graph.prior_scores[order]
        rows = zip(scores, self._graph.allowed[order], strict=True)
        return np.stack([softmax_over_allowed(row, allowed, explore) for row, allowed in rows])

    def _states(
        self,
        start: NDArray[np.int32],
        order: NDArray[np.int32],
        actions: NDArray[np.int32],
        start_times: GroupStartTimes | None,
        most: int,
    ) -> Iterator[tuple[Array, NDArray[np.int32]]]:
        """(features [groups, steps, width], current groups [steps]) of at most so many steps after each other."""
        groups, placement = len(start), start.copy()
        decided = np.zeros(groups, dtype=bool)
        starts_us: Array | None = None
        rows: list[Array] = []
        for step, group in enumerate(order.tolist()):
            if step % groups == 0:
                decided[:] = False
            if start_times is not None and starts_us is None:
                starts_us = start_times.of(placement[None, :])[0]
            rows.append(self._features(placement, decided, group, starts_us))
            if placement[group] != actions[step]:
                starts_us = None
            placement[group], decided[group] = actions[step], True
            if len(rows) == most or step == len(order) - 1:
                yield np.stack(rows, axis=1), order[step + 1 - len(rows) : step + 1]
                rows = []

    def _features(
        self, placement: NDArray[np.int32], decided: NDArray[np.bool_], current: int, starts_us: Array | None
    ) -> Array:
        """[groups, 5 + devices] as `PublishedActor.features`."""
        groups, devices = self._graph.allowed.shape
        times = self._graph.time_us[np.arange(groups), placement].astype(np.float32)
        sizes = self._graph.output_bytes.astype(np.float32)
        apart = np.zeros(groups, dtype=np.float32) if starts_us is None else starts_us - starts_us[current]
        columns = [
            times / max(times.max(), LEAST),
            sizes / max(sizes.max(), LEAST),
            np.arange(groups) == current,
            decided,
            apart / max(np.abs(apart).max(), LEAST),
        ]
        return np.concatenate(
            [np.stack(columns, axis=1), np.eye(devices)[placement]], axis=1, dtype=np.float32, casting="unsafe"
        )

    def _scores(self, features: Array, current: NDArray[np.int32]) -> Array:
        """[steps, devices] the network's scores."""
        if self._network == "simple_aggregator":
            everything = np.ones((1, *features.shape[:2]), dtype=np.float32)
            return self._linears("classifier", self._pooled(features, everything))
        if self._network == "published":
            own = self._linears("rounds.own", features)
            down = self._directed("rounds.top_down", own, *self._edges)
            features = np.concatenate([down, self._directed("rounds.bottom_up", own, *self._edges[::-1])], axis=-1)
        own_rows = features[current, np.arange(len(current))]
        pooled = self._pooled(features, self._sets[:, :, current])
        return self._linears("classifier", np.concatenate([own_rows, pooled], axis=-1))

    def _directed(self, name: str, own: Array, source: NDArray[np.int64], target: NDArray[np.int64]) -> Array:
        """[groups, steps, width] after the rounds of message passing along the edges from `source` to `target`."""
        has_any = np.isin(np.arange(len(own)), target).astype(np.float32)[:, None, None]
        state = own
        for _ in range(self._rounds):
            messages = self._rectified(f"{name}.message_network", state)
            gathered = np.zeros_like(messages)
            np.add.at(gathered, target, messages[source])
            state = own + has_any * self._rectified(f"{name}.update_network", gathered)
        return state

    def _pooled(self, features: Array, sets: Array) -> Array:
        """[steps, sets · width] from `sets` [sets, groups, steps], each of 0 and 1."""
        pooled = []
        for index, members in enumerate(sets):
            inner = self._rectified(f"pool.inner.{index}", features)
            pooled.append(self._rectified(f"pool.outer.{index}", np.einsum("gsw,gs->sw", inner, members)))
        return np.concatenate(pooled, axis=-1)

    def _rectified(self, name: str, values: Array) -> Array:
        return np.maximum(self._linears(name, values), np.float32(0.0))

    def _linears(self, name: str, values: Array) -> Array:
        """The linear layers of a sequence, with a ReLU between each two."""
        for place in (0, 2, 4):
            weight = self._weights.get(f"{name}.{place}.weight")
            if weight is None:
                break
            values = np.maximum(values, np.float32(0.0)) if place else values
            values = values @ weight.T + self._weights[f"{name}.{place}.bias"]
        return values
