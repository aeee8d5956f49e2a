"""A policy's file: what was saved is loaded, and what is no policy is refused."""

from pathlib import Path

import numpy as np
import pytest
import torch

from engine.errors import SettingsError
from engine.events import Json
from engine.placeto.checkpoints import TrainedPolicy, load_policy, save_policy, set_weights, weights_of
from engine.placeto.features import group_graph
from engine.placeto.settings import make_settings
from engine.placeto.shared_head import SharedHead
from engine.placeto.tensor_file import pack_tensors, unpack_tensors
from engine.placeto.training import make_policy

from .problems import random_problem


def trained() -> TrainedPolicy:
    settings = make_settings({"torch_device": "cpu", "hidden_width": 8})
    policy = make_policy(settings, group_graph(random_problem(1)), np.random.default_rng(0))
    return TrainedPolicy(settings, weights_of(policy.network), {"graphs": ["one", "zwei"], "episodes": 12})


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    policy = trained()
    save_policy(policy, tmp_path / "policy.safetensors")
    loaded = load_policy(tmp_path / "policy.safetensors")
    assert (loaded.settings, loaded.trained_on) == (policy.settings, policy.trained_on)
    assert loaded.weights.keys() == policy.weights.keys()
    assert all(np.array_equal(loaded.weights[name], array) for name, array in policy.weights.items())
    assert [path.name for path in tmp_path.iterdir()] == ["policy.safetensors"]


def test_the_same_policy_is_the_same_bytes() -> None:
    assert trained().to_bytes() == trained().to_bytes()


def test_loaded_weights_are_the_network_s() -> None:
    policy = trained()
    network = SharedHead(policy.settings.embedding_width, policy.settings.hidden_width, policy.settings.message_rounds)
    set_weights(network, policy.weights, "policy")
    assert all(np.array_equal(array, policy.weights[name]) for name, array in weights_of(network).items())


def test_weights_of_another_width_are_refused() -> None:
    network = SharedHead(32, 16, 2)
    with pytest.raises(SettingsError) as caught:
        set_weights(network, trained().weights, "wide.safetensors")
    assert str(caught.value) == (
        "wide.safetensors: weights 'own.bias' have shape (8,); allowed: (16,), as on this problem"
    )


BAD_FILES: list[tuple[str, bytes, str]] = [
    ("empty", b"", "this is no file of Placeto; allowed: a file written by Placeto"),
    ("pickle", b"\x80\x04\x95\x05\x00\x00\x00", "this is no file of Placeto; allowed: a file written by Placeto"),
    ("cut", trained().to_bytes()[:-5], "this is no file of Placeto; allowed: a file written by Placeto"),
    ("length", b"\xff" * 8 + b"{}", "this is no file of Placeto; allowed: a file written by Placeto"),
    (
        "tensors",
        pack_tensors({}, {})[:0] + b"\x02\0\0\0\0\0\0\0{}",
        "this is no file of Placeto; allowed: a file written by Placeto",
    ),
    (
        "version",
        pack_tensors({}, {"version": 0, "settings": {}, "trained_on": {}}),
        "this policy was written by another version; allowed: version 1",
    ),
    (
        "no settings",
        pack_tensors({}, {"version": 1, "trained_on": {}}),
        "this policy was written by another version; allowed: version 1",
    ),
    (
        "nan",
        pack_tensors({"w": np.array([np.nan], np.float32)}, {"version": 1, "settings": {}, "trained_on": {}}),
        "weights 'w' are not finite float32 numbers; allowed: weights written by Placeto",
    ),
    (
        "integers",
        pack_tensors({"w": np.array([1])}, {"version": 1, "settings": {}, "trained_on": {}}),
        "weights 'w' are not finite float32 numbers; allowed: weights written by Placeto",
    ),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD_FILES, ids=[row[0] for row in BAD_FILES])
def test_a_file_that_is_no_policy_is_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SettingsError) as caught:
        load_policy(path)
    assert str(caught.value) == f"{name}: {message}"
    assert caught.value.field == "policy"


def test_bad_settings_in_a_policy_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd"
    path.write_bytes(pack_tensors({}, {"version": 1, "settings": {"epochs": -1}, "trained_on": {}}))
    with pytest.raises(SettingsError, match="epochs: -1"):
        load_policy(path)


def test_arrays_and_texts_come_back() -> None:
    arrays = {"a": np.arange(6.0).reshape(2, 3), "empty": np.zeros((0, 4)), "scalar": np.array(3, np.float32)}
    texts: dict[str, Json] = {"big": 2**127 + 1, "umlaut": "ä", "nested": {"list": [1, None, True]}}
    back, said = unpack_tensors(pack_tensors(arrays, texts), "here")
    assert said == texts
    assert all(np.array_equal(back[name], array) and back[name].dtype == array.dtype for name, array in arrays.items())


def test_not_contiguous_arrays_are_stored_as_they_look() -> None:
    array = np.arange(6.0).reshape(2, 3).T
    assert np.array_equal(unpack_tensors(pack_tensors({"a": array}, {}), "here")[0]["a"], array)


def test_loading_touches_no_global_generator() -> None:
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    trained()
    assert torch.rand(1) == expected
