"""What holds for all tests: which run together, and which are slow, so that `make test-fast` leaves them out."""

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.compiling import wait_until_compiled

# The same examples in every run: a failure is then the change's, and can be repeated. No deadline: the first call of
# compiled code compiles it.
settings.register_profile("placeto", deadline=None, derandomize=True)
settings.load_profile("placeto")

# Several tests run at a time: torch's threads for small sums would wait for each other's processors, ten times as long
# as the sums take. Before torch is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")

TESTS = Path(__file__).parent
TOGETHER = ("e2e",)
"""folders whose tests share one application and one browser: one after the other, however many run at a time"""
SLOW = (
    "chaos",
    "client/test_bare_environment.py",
    "client/test_real_sizes.py",
    "contributing",
    "e2e",
    "engine/child",
    "engine/cli/test_apply.py",
    "engine/cli/test_command_line.py",
    "engine/cli/test_compile_command.py",
    "engine/cli/test_devices_of_files.py",
    "engine/cli/test_inspect.py",
    "engine/cli/test_training_command.py",
    "engine/comparing/test_compare.py",
    "engine/costs/test_arithmetic_beside_estimator.py",
    "engine/costs/test_calls.py",
    "engine/costs/test_captured_variables.py",
    "engine/costs/test_estimated.py",
    "engine/costs/test_evaluated_beside_tensorflow.py",
    "engine/costs/test_hidden_work.py",
    "engine/costs/test_open_lengths.py",
    "engine/costs/test_partial_values.py",
    "engine/costs/test_findings.py",
    "engine/costs/test_hostile_estimates.py",
    "engine/costs/test_input_shapes.py",
    "engine/costs/test_lost_shapes.py",
    "engine/costs/test_measured.py",
    "engine/costs/test_odd_calls.py",
    "engine/costs/test_small_values.py",
    "engine/formats/test_bad_containers.py",
    "engine/formats/test_custom_ops.py",
    "engine/formats/test_digraph.py",
    "engine/formats/test_graphdef_bad_files.py",
    "engine/formats/test_graphdef_reader.py",
    "engine/formats/test_graphdef_writer.py",
    "engine/formats/test_one_child.py",
    "engine/formats/test_opening.py",
    "engine/formats/test_order_of_file.py",
    "engine/formats/test_step_of_file.py",
    "engine/graphs/tensorflow/test_gpu_kernels.py",
    "engine/graphs/tensorflow/test_large_text.py",
    "engine/graphs/tensorflow/test_cpu_kernels.py",
    "engine/graphs/tensorflow/test_op_table.py",
    "engine/graphs/tensorflow/test_soft_placement.py",
    "engine/graphs/tensorflow/test_switches.py",
    "engine/measuring",
    "engine/placed_graphs",
    "engine/placed_saved_models",
    "engine/placers/test_auto.py",
    "engine/placers/test_contract.py",
    "engine/placers/test_scotch.py",
    "engine/placeto/test_training.py",
    "engine/policies/test_family_training.py",
    "engine/policies/test_placing_with_a_policy.py",
    "engine/policies/test_upload.py",
    "engine/test_recorded.py",
    "engine/zoo",
    "experiments",
    "fuzz/test_seeds.py",
    "models",
    "private_apis/test_tensorflow.py",
    "supervisor",
    "webapp/hooks/test_killed_sender.py",
    "webapp/test_backup_between_databases.py",
    "webapp/test_default_policy.py",
    "webapp/test_download_saved_model.py",
    "webapp/test_first_page.py",
    "webapp/test_memory_shares.py",
    "webapp/test_read_graph.py",
    "webapp/test_upload.py",
    "webapp/test_upload_policy.py",
    "webapp/test_upload_with_options.py",
    "webapp/test_worker_ends.py",
    "webapp/test_worker_versions.py",
)
"""folders and files whose tests are all slow; a slow test in another file is marked there"""
SLOW_FIXTURES = frozenset(
    {"around", "prepared_blob", "reading_blobs", "prepared_tree", "inception_path", "tiny_cnn_path"}
)
"""fixtures that start Python processes"""
_current: list[pytest.Item | None] = []


def group_of(path: Path) -> str:
    """The tests that run on one worker: those of a file, which share its fixtures, or those of a folder above."""
    folder, *_ = path.relative_to(TESTS).parts
    return folder if folder in TOGETHER else str(path.relative_to(TESTS))


@cache  # a file has up to hundreds of tests
def is_slow(path: Path) -> bool:
    """Whether all tests of this file are slow."""
    return any(path.is_relative_to(TESTS / slow) for slow in SLOW)


@pytest.hookimpl(tryfirst=True)  # before xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With `-n 2 --dist loadgroup` each group may run beside the others."""
    for item in items:
        item.add_marker(pytest.mark.xdist_group(group_of(item.path)))
        if is_slow(item.path) or SLOW_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """The tests are collected while the engine is compiled, and begin when it is."""
    wait_until_compiled()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Remember which test runs, its fixtures included, unless it is a slow one."""
    _current.append(None if item.get_closest_marker("slow") else item)
    try:
        return (yield)
    finally:
        _current.pop()


def _refuse_python_processes(event: str, arguments: tuple[Any, ...]) -> None:
    """A child with TensorFlow, a worker, a server: each begins as a Python process, which takes a test seconds.

    A test that starts one and is not marked fails, so that `make test-fast` stays fast.
    """
    if event == "subprocess.Popen" and _current and _current[-1] is not None:
        assert arguments[1][0] != sys.executable, "a test that starts a Python process is marked slow"


sys.addaudithook(_refuse_python_processes)
