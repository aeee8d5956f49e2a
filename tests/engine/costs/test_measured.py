"""Measured costs: what RunMetadata says replaces estimates where it was measured, and nothing else."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from engine.child.parent import Limits
from engine.clusters.device_kinds import CATALOGUE
from engine.costs.costs import Costs, CostSource
from engine.costs.measured import notes_on_measured, with_measured
from engine.errors import CostError, GraphError, PlacetoError, SettingsError
from engine.formats.reading import prepare
from engine.formats.registry import FORMATS
from engine.graphs.graph import ComputationGraph
from engine.graphs.tensorflow.wire import bytes_field
from tests.engine.costs.in_child import read_step_stats
from tests.engine.costs.step_stats_samples import CPU, GPU, device, number, output, run_metadata, stats, temporary
from tests.engine.formats.graphdef_samples import constant, text, total

LIMITS = Limits(memory_bytes=2 * 1024**3, seconds=60.0)
NAMES = ("a", "conv", "loop/add", "never")
KINDS = ("K80", "V100", "CPU")
FLOAT, STRING, RESOURCE = 1, 7, 20


def graph() -> ComputationGraph:
    none = np.empty(0, dtype=np.int32)
    return ComputationGraph(
        name="four",
        op_names=NAMES,
        op_types=("Const", "Conv2D", "Add", "NoOp"),
        edge_source=none,
        edge_target=none,
        edge_output=none,
        devices=("",) * 4,
        colocation=((),) * 4,
        back_edges=np.empty((0, 2), dtype=np.int32),
    )


def estimates() -> Costs:
    """Every op takes 100 µs anywhere; `conv` has two outputs, the others but `never` have one; 7 bytes each."""
    return Costs(
        kinds=KINDS,
        time_us=np.full((3, 4), 100.0),
        output_offset=np.array([0, 1, 3, 4, 4]),
        output_bytes=np.full(4, 7),
        persistent_bytes=np.zeros(4, dtype=np.int64),
        temporary_bytes=np.zeros(4, dtype=np.int64),
        source=np.array(
            [CostSource.ESTIMATED, CostSource.ESTIMATED, CostSource.UNKNOWN, CostSource.ESTIMATED], dtype=np.uint8
        ),
    )


def measured(tmp_path: Path, *devices: bytes, kind: str | None = None) -> Costs:
    path = tmp_path / "metadata.pb"
    path.write_bytes(run_metadata(*devices))
    return with_measured(estimates(), graph(), read_step_stats(path, LIMITS), kind)


def test_a_cpu_measures_cpus_alone_and_what_did_not_run_keeps_its_estimate(tmp_path: Path) -> None:
    own = device(CPU, stats("_SOURCE", 5), stats("a", 3), stats("conv", 20, 4), stats("loop/add", 1))
    costs = measured(tmp_path, own)
    assert costs.time_us.tolist() == [[100] * 4, [100] * 4, [3, 16, 1, 100]]
    assert costs.source.tolist() == [CostSource.MEASURED] * 3 + [CostSource.ESTIMATED]


def test_the_executions_of_a_loop_add_up(tmp_path: Path) -> None:
    costs = measured(tmp_path, device(CPU, *(stats("loop/add", end, 1, temporary(end)) for end in (2, 5, 4))))
    assert costs.time_us[2].tolist() == [100, 100, 8, 100]
    assert costs.temporary_bytes.tolist() == [0, 0, 5, 0]


def test_kernels_count_where_a_gpu_reports_them_and_launches_elsewhere(tmp_path: Path) -> None:
    """Numbered streams repeat what `/stream:all` says; copies are transfers, which the simulator has itself."""
    launches = device(GPU, stats("conv", 2), stats("a", 9))
    kernels = device(f"{GPU}/stream:all", stats("conv:Conv2D#id=1#", 50), stats("x::conv:Conv2D#id=2#", 30))
    copies = device(f"{GPU}/memcpy", stats("a:Const", 77)), device(f"{GPU}/stream:7", stats("conv:Conv2D", 50))
    costs = measured(tmp_path, launches, *copies, kernels, device("/host:CPU", stats("a", 1000)))
    assert costs.time_us.tolist() == [[9, 50, 100, 100], [9, 50, 100, 100], [100] * 4]


def test_streams_count_where_there_is_no_sum_of_them(tmp_path: Path) -> None:
    first, second = (
        device("/gpu:0/stream:7", stats("conv:Conv2D", 5)),
        device("/gpu:0/stream:8", stats("conv:Conv2D", 6)),
    )
    assert measured(tmp_path, first, second).time_us[0].tolist() == [100, 11, 100, 100]


def test_the_slowest_of_several_devices_counts(tmp_path: Path) -> None:
    second = device(CPU.replace("CPU:0", "CPU:1"), stats("a", 4))
    assert measured(tmp_path, device(CPU, stats("a", 3)), second).time_us[2, 0] == 4


def test_a_kind_that_is_given_is_the_only_one_of_its_class(tmp_path: Path) -> None:
    costs = measured(tmp_path, device(GPU, stats("conv", 2)), device(CPU, stats("a", 3)), kind="V100")
    assert costs.time_us.tolist() == [[100] * 4, [100, 2, 100, 100], [3, 100, 100, 100]]


def test_nanoseconds_count_where_they_are_given(tmp_path: Path) -> None:
    costs = measured(tmp_path, device(CPU, stats("a", 1, 0, number(14, 100) + number(15, 1350))))
    assert costs.time_us[2, 0] == pytest.approx(1.25)


def test_an_older_record_without_an_end_of_the_op_counts_until_all_is_done(tmp_path: Path) -> None:
    assert measured(tmp_path, device(CPU, stats("a", 0, 0, number(5, 12)))).time_us[2, 0] == 12


def test_bytes_of_outputs_are_those_of_the_tensor_not_of_its_buffer(tmp_path: Path) -> None:
    """A handle keeps its estimate; a text's bytes are its buffer's; an output that the op has not is left out."""
    of_conv = output(0, FLOAT, 5, 3, requested_bytes=4096) + output(1, STRING, 2, requested_bytes=48)
    of_add = output(0, RESOURCE, requested_bytes=8) + output(1, FLOAT, 9)
    costs = measured(tmp_path, device(CPU, stats("conv", 1, 0, of_conv), stats("loop/add", 1, 0, of_add)))
    assert costs.output_bytes.tolist() == [7, 60, 48, 7]


def test_people_read_what_was_measured_where(tmp_path: Path) -> None:
    """Op 2 has no estimate, so that its time on a GPU is neither estimated nor measured."""
    path = tmp_path / "metadata.pb"
    path.write_bytes(run_metadata(device(CPU, stats("a", 3), stats("loop/add", 3)), device(GPU, stats("conv", 3))))
    assert notes_on_measured(estimates(), graph(), read_step_stats(path, LIMITS)) == (
        "3 of 4 ops have measured times, on CPU and GPU; other times are estimates.",
        "1 ops could not be estimated and are not measured on GPU: their times there are low.",
    )


@pytest.mark.parametrize(
    ("devices", "kind", "error", "line"),
    [
        (
            [device(CPU, stats("x", 1), stats("y", 1), stats("a", 1), stats("x/_3", 1))],
            None,
            GraphError,
            "the run is of another graph: 1 of its 3 measured ops are in this one; allowed: measured times of a run "
            "of this graph",
        ),
        (
            [device(CPU, stats("_SOURCE", 1))],
            None,
            GraphError,
            "the run is of another graph: 0 of its 0 measured ops are in this one; allowed: measured times of a run "
            "of this graph",
        ),
        (
            [device(CPU, stats("a", 1))],
            "K80",
            GraphError,
            "K80: nothing in it was measured on a GPU; allowed: a kind of CPU",
        ),
        (
            [device(CPU, stats("a", 1))],
            "Z80",
            CostError,
            f"Z80: no such device kind; allowed: {', '.join(CATALOGUE)}",
        ),
    ],
)
def test_stats_that_do_not_belong_here_are_refused(
    tmp_path: Path, devices: list[bytes], kind: str | None, error: type[PlacetoError], line: str
) -> None:
    with pytest.raises(error) as raised:
        measured(tmp_path, *devices, kind=kind)
    assert str(raised.value) == line


ALLOWED = "; allowed: RunMetadata (.pb) of a run with full tracing"
CUT = "the file is not RunMetadata, or it is cut short or damaged: "
START_END = "; allowed: a start from 0, and an end after it"
GOOD = run_metadata(device(CPU, stats("a", 3)))
BAD_FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", f"the file is empty{ALLOWED}"),
    "pickle": (b"\x80\x04\x95\x05.", f"this is a pickle, which is never read{ALLOWED}"),
    "PNG": (b"\x89PNG\r\n\x1a\n", f"this is a PNG picture{ALLOWED}"),
    "HTML": (b"<html></html>", f"this is a page of HTML or XML{ALLOWED}"),
    "JSON": (b'{"a": 1}', f"this is JSON{ALLOWED}"),
    "zip": (b"PK\x03\x04....", f"this is a zip archive{ALLOWED}"),
    "GraphDef": (constant("a") + constant("b") + total("c", "a", "b"), f"this is a GraphDef{ALLOWED}"),
    "MetaGraphDef": (
        bytes_field(1, text(5, "2.21.0")) + bytes_field(2, constant("a")),
        f"this is a MetaGraphDef (.meta){ALLOWED}",
    ),
    "no stats": (bytes_field(3, constant("a")), f"there are no step stats of a CPU or a GPU in it{ALLOWED}"),
    "no ops": (run_metadata(device(CPU)), f"there are no step stats of a CPU or a GPU in it{ALLOWED}"),
    "a TPU": (
        run_metadata(device("/device:TPU:0", stats("a", 3))),
        f"there are no step stats of a CPU or a GPU in it{ALLOWED}",
    ),
    "empty stats": (run_metadata(), f"{CUT}byte 0 begins no step stats{ALLOWED}"),
    "empty op": (run_metadata(device(CPU, b"\x12\x00")), f"{CUT}byte 50 begins no step stats{ALLOWED}"),
    "no device name": (
        run_metadata(bytes_field(1, stats("a", 3))),
        f"{CUT}byte 2 begins no stats of a device{ALLOWED}",
    ),
    "cut short": (GOOD[:-1], f"{CUT}the field at byte 0 needs 57 bytes, 56 are left{ALLOWED}"),
    "cut at the start": (GOOD[:1], f"{CUT}the number at byte 1 does not end{ALLOWED}"),
    "text": (b"hello, world", f"{CUT}byte 2 begins no field{ALLOWED}"),
    "no op name": (run_metadata(device(CPU, stats("", 3))), f"the stats name no op{ALLOWED}"),
    "bad UTF-8": (
        run_metadata(device(CPU, stats("a", 3), stats(b"\xff", 3))),
        f"op 1 of {CPU}: its stats are damaged, or nested too deep{ALLOWED}",
    ),
    "negative time": (run_metadata(device(CPU, stats("a", 3, 5))), f"a: it starts at 5 µs and ends at 3 µs{START_END}"),
    "negative start": (
        run_metadata(device(CPU, stats("a", -3, -5))),
        f"a: it starts at -5 µs and ends at -3 µs{START_END}",
    ),
    "endless": (
        run_metadata(device(CPU, stats("a", 2**62))),
        "a: it took 4.61169e+18 µs; allowed: at most 1e+12 µs",
    ),
    "huge output": (
        run_metadata(device(CPU, stats("a", 3, 0, output(0, FLOAT, 2**40, 2**40)))),
        f"a: output 0 has {2**82} bytes; allowed: 0 to {2**50}",
    ),
    "negative memory": (
        run_metadata(device(CPU, stats("a", 3, 0, temporary(-8)))),
        f"a: its temporary memory has -8 bytes; allowed: 0 to {2**50}",
    ),
    "a name with a control character": (
        run_metadata(device(CPU, stats("<b>\n", 3, 5))),
        f"<b>\N{REPLACEMENT CHARACTER}: it starts at 5 µs and ends at 3 µs{START_END}",
    ),
    "too many": (
        run_metadata(device(CPU, b"\x12\x01\x00" * 1_000_001)),
        "step stats of more than 1000000 ops; allowed: at most 1000000",
    ),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_each_bad_file_has_its_own_sentence(tmp_path: Path, name: str) -> None:
    content, line = BAD_FILES[name]
    path = tmp_path / "metadata.pb"
    path.write_bytes(content)
    with pytest.raises(GraphError) as raised:
        read_step_stats(path, LIMITS)
    assert str(raised.value) == line


def test_stats_beside_a_file_with_times_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "metadata.pb"
    path.write_bytes(GOOD)
    monkeypatch.setitem(FORMATS, ".json", dataclasses.replace(FORMATS[".json"], times=""))
    with pytest.raises(GraphError, match=r"^metadata\.pb: node-link JSON has its times in itself"):
        prepare(tmp_path / "graph.json", ".json", lambda *_: None, LIMITS, run_metadata=path)
    with pytest.raises(SettingsError, match=r"^profile kind: K80 is given without measured times"):
        prepare(tmp_path / "graph.pb", ".pb", lambda *_: None, LIMITS, profile_kind="K80")
