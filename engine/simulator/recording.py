"""Makes the timeline of one simulated step from its scratch, with numpy, in n log n."""

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import NO_CHANNELS, Cluster, Contention
from engine.costs.costs import Costs
from engine.graphs.edge_trips import most_of_each, trips_of_edges
from engine.graphs.graph import OPTIMIZER, ComputationGraph
from engine.simulator.holdings import curves_of, holdings_of
from engine.simulator.records import Scratch, Tables
from engine.simulator.tables import Numbering
from engine.simulator.timeline import NOT_SENT, NOT_WAITED, Timeline, Transfers


class Recording:
    """One simulated step as arrays of the graph's ops, edges and transfers, read from the scratch."""

    def __init__(
        self,
        graph: ComputationGraph,
        costs: Costs,
        cluster: Cluster,
        tables: Tables,
        numbering: Numbering,
        scratch: Scratch,
    ) -> None:
        """`graph` and `costs` are the part that the step executes."""
        self.graph, self.costs, self.cluster = graph, costs, cluster
        self.op_trips = costs.trips_of_op()
        self.device_of_op = np.empty(graph.op_count, dtype=np.int32)
        self.start_us, self.time_us = np.empty(graph.op_count), np.empty(graph.op_count)
        self.device_of_op[numbering.ops] = scratch.ops["device"]
        self.start_us[numbering.ops], self.time_us[numbering.ops] = scratch.start_us, scratch.ops["time_us"]
        self.end_us = self.start_us + self.time_us
        self.peak_bytes = scratch.devices.peak_bytes.copy()
        edge_of_entry = numbering.entries
        source, target = graph.edge_source[edge_of_entry], graph.edge_target[edge_of_entry]
        remote = self.device_of_op[source] != self.device_of_op[target]
        self.through_host = cluster.contention == Contention.HOST
        """whether a transfer stands for one copy: those of an output are sent at once and received one by one"""
        transfer = (scratch.entries["copy"] if self.through_host else scratch.entries.transfer).astype(np.int64)
        firsts, transfer_of_remote = np.unique(transfer[remote], return_inverse=True)
        self.transfer_of_edge = np.full(graph.edge_count, NOT_SENT, dtype=np.int64)
        """[edges] the transfer that brings the bytes, `NOT_SENT` where both ops are on one device"""
        self.transfer_of_edge[edge_of_entry[remote]] = transfer_of_remote
        sends = scratch.entries[scratch.entries.transfer[firsts]]
        self.sent_us = sends.start_us + sends.time_us
        """[transfers] when each has left its producer's device; with `host` it is received later"""
        self.transfers = self._transfers(edge_of_entry[firsts], firsts, scratch, tables)
        self.sends_occupy = cluster.contention == Contention.SENDER
        self.running_order = self._running_order(numbering, scratch, firsts)
        """[devices] the activities that keep each device from others, in their order"""

    def _running_order(
        self, numbering: Numbering, scratch: Scratch, entry: NDArray[np.int64]
    ) -> list[NDArray[np.int64]]:
        """`entry` [transfers] is the first that each serves."""
        orders = []
        sent_before = scratch.entries.next_transfer[entry].astype(np.int64)
        for device, state in enumerate(scratch.devices):
            places = np.arange(state.first, state.tail)
            activities = numbering.ops[scratch.queue[places]]
            if self.sends_occupy:
                sends = np.flatnonzero(self.transfers.source == device)
                sends = sends[np.lexsort((self.transfers.bytes[sends], self.transfers.start_us[sends]))]
                before = np.searchsorted(places, sent_before[sends])
                activities = np.insert(activities, before, self.graph.op_count + sends)
            orders.append(activities)
        return orders

    def _transfers(
        self, edge: NDArray[np.int64], entry: NDArray[np.int64], scratch: Scratch, tables: Tables
    ) -> Transfers:
        """The transfers; `edge` and `entry` [transfers] are the first that each serves."""
        remote = self.transfer_of_edge >= 0
        ends = np.stack((self.transfer_of_edge[remote], self.device_of_op[self.graph.edge_target[remote]]))
        served = np.unique(ends, axis=1)
        edge_trips = trips_of_edges(self.graph, self.op_trips)
        trips = most_of_each(edge_trips[remote], self.transfer_of_edge[remote], len(edge))
        start_us = scratch.entries.start_us[entry]
        end_us = start_us + scratch.entries.time_us[entry]
        if self.through_host:
            start_us = scratch.entries.start_us[scratch.entries.transfer[entry]]
            end_us = scratch.stream.arrived_us[entry]
        source, destinations = self.device_of_op[self.graph.edge_source[edge]], served[1].astype(np.int32)
        destination_offset = np.searchsorted(served[0], np.arange(len(edge) + 1)).astype(np.int64)
        return Transfers(
            op=self.graph.edge_source[edge],
            output=self.graph.edge_output[edge],
            source=source,
            channel=self._channels(source, destinations),
            destination_offset=destination_offset,
            destinations=destinations,
            start_us=start_us,
            end_us=end_us,
            bytes=tables.flows.bytes[tables.entries.flow[entry]],
            trips=trips,
        )

    def _channels(self, source: NDArray[np.int32], destinations: NDArray[np.int32]) -> NDArray[np.int64]:
        """[transfers] the channels; with `pair` each transfer has one of `destinations`."""
        if self.cluster.contention in NO_CHANNELS:
            return np.arange(len(source))
        channel = source.astype(np.int64)
        if self.cluster.contention == Contention.PAIR:
            channel = channel * self.cluster.device_count + destinations
        return channel

    def timeline(self, step_time_us: float) -> Timeline:
        """The timeline of the step."""
        last_input, ready_us = self._last_inputs()
        waited_for = self._awaited(last_input, ready_us)
        devices = self.cluster.device_count
        rests = self.costs.rests_of_op()
        op_rests_us = np.where(self.time_us != 0, self.cluster.op_rests_us[self.device_of_op] * rests, 0.0)
        link_rests_us, links_free_us = self._after_transfers_us()
        free_us = np.concatenate((self.end_us + op_rests_us, links_free_us))
        sending_us = np.zeros(devices)
        if self.sends_occupy:
            kept_us = free_us[self.graph.op_count :] - self.transfers.start_us
            sending_us = np.bincount(self.transfers.source, kept_us, devices).astype(np.float64)
        elif self.through_host:
            sending_us = self._moving_us()
        holdings = holdings_of(self)
        return Timeline(
            step_time_us=step_time_us,
            device_of_op=self.device_of_op,
            start_us=self.start_us,
            end_us=self.end_us,
            transfers=self.transfers,
            transfer_of_edge=self.transfer_of_edge,
            waited_for=waited_for,
            last_input=last_input,
            rest_after_us=np.concatenate((op_rests_us, link_rests_us)),
            free_us=free_us,
            critical_path=self._critical_path(waited_for, free_us),
            busy_us=np.bincount(self.device_of_op, self.time_us, devices).astype(np.float64),
            rest_us=np.bincount(self.device_of_op, op_rests_us, devices).astype(np.float64),
            sending_us=sending_us,
            sends_occupy=self.sends_occupy,
            peak_bytes=self.peak_bytes,
            memory=curves_of(holdings, devices),
            holdings=holdings,
        )

    def _last_inputs(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """[ops] the activity that brought the last input, and when it came: `NOT_WAITED` and 0 without inputs."""
        arrival_us = self.end_us[self.graph.edge_source]
        bringer = self.graph.edge_source.astype(np.int64)
        remote = self.transfer_of_edge >= 0
        arrival_us[remote] = self.transfers.end_us[self.transfer_of_edge[remote]]
        bringer[remote] = self.graph.op_count + self.transfer_of_edge[remote]
        last_input = np.full(self.graph.op_count, NOT_WAITED, dtype=np.int64)
        ready_us = np.zeros(self.graph.op_count)
        by_arrival = np.argsort(arrival_us, kind="stable")
        last_input[self.graph.edge_target[by_arrival]] = bringer[by_arrival]
        ready_us[self.graph.edge_target[by_arrival]] = arrival_us[by_arrival]
        if len(self.graph.phase):
            self._wait_for_the_early(last_input, ready_us)
        return last_input, ready_us

    def _wait_for_the_early(self, last_input: NDArray[np.int64], ready_us: NDArray[np.float64]) -> None:
        """Make the last early op of a device an input of its late ones, which it lets run."""
        for order in self.running_order:
            ops = order[order < self.graph.op_count]
            is_late = self.graph.phase[ops] == OPTIMIZER
            early, late = ops[~is_late], ops[is_late]
            if len(early):
                waiting = late[ready_us[late] <= self.end_us[early[-1]]]
                last_input[waiting], ready_us[waiting] = early[-1], self.end_us[early[-1]]

    def _after_transfers_us(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """[transfers] how long the channel of each rests after it, and when it, or the sender, is free again."""
        transfers, rest_us = self.transfers, self.cluster.link_rest_us
        if self.cluster.contention in (Contention.NONE, Contention.HOST):
            return np.zeros(len(transfers)), transfers.end_us
        if self.sends_occupy:
            bandwidth = self.cluster.bandwidth_bytes_per_us[transfers.source, transfers.destinations]
            free_us = transfers.start_us + (rest_us + transfers.bytes / bandwidth) * transfers.trips
            return free_us - transfers.end_us, free_us
        rests_us = rest_us * transfers.trips.astype(np.float64)
        return rests_us, transfers.end_us + rests_us

    def _moving_us(self) -> NDArray[np.float64]:
        """[devices] with `host`, time in which each was busy sending and receiving."""
        transfers, devices = self.transfers, self.cluster.device_count
        if not len(transfers):
            return np.zeros(devices)
        receiver = transfers.destinations
        bandwidth = self.cluster.bandwidth_bytes_per_us[transfers.source, receiver]
        kept_us = transfers.bytes * transfers.trips / bandwidth
        sent = np.stack((transfers.op, transfers.output))
        outputs, output_of = np.unique(sent, axis=1, return_inverse=True)
        of_output_us = np.zeros(outputs.shape[1])
        np.maximum.at(of_output_us, output_of.ravel(), kept_us)
        moving_us = np.bincount(self.device_of_op[outputs[0]], of_output_us, devices)
        moving_us += np.bincount(receiver, kept_us, devices)
        return np.where([device.is_cpu for device in self.cluster.devices], 0.0, moving_us)

    def _awaited(self, last_input: NDArray[np.int64], ready_us: NDArray[np.float64]) -> NDArray[np.int64]:
        """[ops + transfers] the activity that decided each start.

        For an op its last input, for a transfer its producer; or what kept its device or its channel busy until then.
        """
        awaited = np.concatenate((last_input, self.transfers.op)).astype(np.int64)
        ready_us = np.concatenate((ready_us, self.end_us[self.transfers.op]))
        start_us = np.concatenate((self.start_us, self.transfers.start_us))
        for order in (*self.running_order, *self._channel_orders()):
            late = ready_us[order[1:]] < start_us[order[1:]]
            awaited[order[1:][late]] = order[:-1][late]
        return awaited

    def _channel_orders(self) -> list[NDArray[np.int64]]:
        """The transfers of each channel, as activities, in their order; none where a transfer needs no channel."""
        if self.cluster.contention in NO_CHANNELS or not len(self.transfers):
            return []
        channel = self.transfers.channel
        order = np.lexsort((self.transfers.end_us, self.transfers.start_us, channel))
        return np.split(self.graph.op_count + order, np.flatnonzero(np.diff(channel[order])) + 1)

    def _critical_path(self, waited_for: NDArray[np.int64], free_us: NDArray[np.float64]) -> NDArray[np.int64]:
        last_us = np.maximum(np.concatenate((self.end_us, self.transfers.end_us)), free_us)
        path = [int(np.argmax(last_us))]
        while waited_for[path[-1]] != NOT_WAITED:
            path.append(int(waited_for[path[-1]]))
        return np.array(path[::-1], dtype=np.int64)
