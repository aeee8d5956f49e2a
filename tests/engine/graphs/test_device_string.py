"""Device strings as TensorFlow writes them."""

import pytest

from engine.errors import GraphError
from engine.graphs.device_string import DeviceString, parse_device_string


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", DeviceString()),
        ("/device:GPU:1", DeviceString(type="GPU", index="1")),
        ("/gpu:1", DeviceString(type="GPU", index="1")),
        ("/CPU:0", DeviceString(type="CPU", index="0")),
        ("/device:cpu:00", DeviceString(type="CPU", index="0")),
        ("/device:TPU:*", DeviceString(type="TPU")),
        ("/job:worker", DeviceString(job="worker")),
        (
            "/job:worker/replica:0/task:3/device:XLA_GPU:12",
            DeviceString(job="worker", replica="0", task="3", type="XLA_GPU", index="12"),
        ),
        ("/device:GPU:0/task:*", DeviceString(type="GPU", index="0")),
    ],
)
def test_parts(text: str, parts: DeviceString) -> None:
    assert parse_device_string(text, "op") == parts


@pytest.mark.parametrize(
    "text",
    ["foo", "/device:GPU:abc", "/device:CPU:", "/device:GPU", "GPU:0", "/gpu:0/gpu:1", "/TPU:0", "/gpu:-1", "/gpu:٣",
     "/", "/gpu:0 ", "/device::0", "/gpu:0<img>"],
)  # fmt: skip
def test_what_is_no_device(text: str) -> None:
    with pytest.raises(GraphError) as caught:
        parse_device_string(text, "some/op")
    assert str(caught.value) == (
        f"some/op: {text} is not a device; "
        "allowed: /device:TYPE:N, with /job:, /replica: and /task: where there are any"
    )


def test_what_one_leaves_open_the_other_may_say() -> None:
    worker, gpu = DeviceString(job="worker"), DeviceString(type="GPU", index="1")
    assert worker.agrees_with(gpu)
    assert worker.joined_with(gpu) == DeviceString(job="worker", type="GPU", index="1")
    assert not gpu.agrees_with(DeviceString(type="GPU", index="0"))
    assert not gpu.agrees_with(DeviceString(type="CPU"))
