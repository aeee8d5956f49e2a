"""Weights by name and the file of arrays and texts: what was stored comes back, and what is no such file is refused."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from engine.errors import SettingsError
from engine.events import Json
from engine.files.tensor_file import MOST_HEADER_BYTES, pack_tensors, unpack_tensors
from engine.placeto.learning.optimiser import Optimiser
from engine.placeto.networks.making import make_actor
from engine.placeto.networks.shared_head_actor import network_without_weights
from engine.placeto.networks.shared_head_shapes import weight_shapes
from engine.placeto.networks.weights import set_weights, weights_of
from engine.placeto.seeing.features import group_graph
from engine.placeto.settings import PlacetoSettings, make_settings
from tests.engine.placeto.problems import random_problem

SETTINGS = make_settings({"torch_device": "cpu", "hidden_width": 8})


def weights() -> dict[str, NDArray[np.generic]]:
    return weights_of(make_actor(SETTINGS, group_graph(random_problem(1)), np.random.default_rng(0)).network)


def test_weights_that_were_set_are_the_network_s() -> None:
    given = weights()
    network = network_without_weights(SETTINGS).to_empty(device="cpu")
    set_weights(network, given, "policy")
    assert all(np.array_equal(array, given[name]) for name, array in weights_of(network).items())


def test_an_optimiser_s_state_is_restored_to_where_its_weights_are() -> None:
    """Adam's fused step wants its counts there, too."""
    network = torch.nn.Linear(2, 1)
    earlier, again = Optimiser(network, 1e-3), Optimiser(torch.nn.Linear(2, 1, device="meta"), 1e-3)
    earlier.begin()
    network(torch.ones(1, 2)).sum().backward()
    earlier.step(1e-3, 1.0)
    again.restore(earlier.arrays())
    places = {tensor.device.type for state in again._adam.state.values() for tensor in state.values()}
    assert places == {"meta"}


def test_weights_of_another_width_are_refused() -> None:
    network = network_without_weights(make_settings({"hidden_width": 16}))
    with pytest.raises(SettingsError) as caught:
        set_weights(network, weights(), "wide.safetensors")
    assert str(caught.value) == (
        "wide.safetensors: weights 'own.bias' have shape (8,); allowed: (16,), as on this problem"
    )


@pytest.mark.parametrize("settings", [{}, {"embedding_width": 3, "hidden_width": 5}, {"message_rounds": 0}])
def test_the_shapes_known_without_torch_are_those_of_the_network(settings: dict[str, Json]) -> None:
    made: PlacetoSettings = make_settings(settings)
    network = network_without_weights(made)
    assert weight_shapes(made) == {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}


def test_arrays_and_texts_come_back() -> None:
    arrays = {"a": np.arange(6.0).reshape(2, 3), "empty": np.zeros((0, 4)), "scalar": np.array(3, np.float32)}
    texts: dict[str, Json] = {"big": 2**127 + 1, "umlaut": "ä", "nested": {"list": [1, None, True]}}
    back, said = unpack_tensors(pack_tensors(arrays, texts), "here")
    assert said == texts
    assert all(np.array_equal(back[name], array) and back[name].dtype == array.dtype for name, array in arrays.items())


def test_not_contiguous_arrays_are_stored_as_they_look() -> None:
    array = np.arange(6.0).reshape(2, 3).T
    assert np.array_equal(unpack_tensors(pack_tensors({"a": array}, {}), "here")[0]["a"], array)


def headed(header: bytes) -> bytes:
    return len(header).to_bytes(8, "little") + header


NO_FILES: dict[str, bytes] = {
    "empty": b"",
    "pickle": b"\x80\x04\x95\x05\x00\x00\x00",
    "cut": pack_tensors({"a": np.zeros(9)}, {})[:-5],
    "length beyond the end": b"\xff" * 8 + b"{}",
    "huge header": (MOST_HEADER_BYTES + 1).to_bytes(8, "little") + b" " * (MOST_HEADER_BYTES + 1),
    "no texts": headed(b"{}"),
    "texts of another program": headed(b'{"__metadata__": {"format": "pt"}}'),
    "texts that are a list": headed(b'{"__metadata__": {"placeto": "[]"}}'),
    "texts nested without end": headed(b'{"__metadata__": {"placeto": "' + b"[" * 100_000 + b'"}}'),
    "a key twice": headed(rb'{"__metadata__": {"placeto": "{\"a\": 1, \"a\": 2}"}}'),
    "an unknown dtype": headed(
        b'{"a": {"dtype": "F4", "shape": [2], "data_offsets": [0, 1]}, "__metadata__": {"placeto": "{}"}}'
    )
    + b"\0",
    "bytes beyond those named": pack_tensors({"a": np.zeros(9)}, {}) + b"\0",
    "an endless shape": headed(
        b'{"a": {"dtype": "F32", "shape": [0, 9999999999999999999], "data_offsets": [0, 0]}, '
        b'"__metadata__": {"placeto": "{}"}}'
    ),
}


@pytest.mark.parametrize("name", NO_FILES)
def test_bytes_that_it_has_not_written_are_refused(name: str) -> None:
    with pytest.raises(SettingsError) as caught:
        unpack_tensors(NO_FILES[name], "odd.bin")
    assert str(caught.value) == "odd.bin: this is not a file of Placeto; allowed: a file written by Placeto"
    assert caught.value.field == "policy"


def test_making_a_network_touches_no_global_generator() -> None:
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    weights()
    assert torch.rand(1) == expected
