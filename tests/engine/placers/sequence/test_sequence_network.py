"""The network's closed forms: attention, masks, a sampled batch and its probabilities by teacher forcing."""

import numpy as np
import pytest
import torch

from engine.placers.sequence import network as sequence_network
from engine.placers.sequence.model import RnnModel
from engine.placers.sequence.network import SequenceNetwork, drawn, initialise, with_noise
from engine.placers.sequence.settings import RnnSettings
from engine.placeto.networks.choices import log_probabilities
from engine.settings.making import make_settings
from tests.engine.placers.small_problems import small_problem


def never() -> None:
    """Ends nothing."""


def network_of(places: int = 6, devices: int = 3, seed: int = 0) -> tuple[SequenceNetwork, torch.Tensor]:
    """A small network and inputs [1, places, 4]."""
    rng = np.random.default_rng(seed)
    with torch.device("meta"):
        network = SequenceNetwork(4, devices, RnnSettings(hidden_width=8))
    initialise(network, rng, torch.device("cpu"))
    return network, torch.from_numpy(rng.random((1, places, 4)).astype(np.float32))


def model_of(noise: float, seed: int = 1) -> RnnModel:
    settings = make_settings("rnn", RnnSettings, {"hidden_width": 8, "noise": noise})
    return RnnModel(small_problem(seed, devices=3, pins=True), settings, np.random.default_rng(seed))


def test_attention_weights_add_up_to_one_and_prefer_what_fits_the_query() -> None:
    network, inputs = network_of()
    encoded = network.encode(inputs)
    states = torch.randn((1, 4, 8), generator=torch.Generator().manual_seed(0))
    weights = network.attention_weights(states, encoded.memory)
    assert weights.shape == (1, 4, 6)
    assert torch.allclose(weights.sum(dim=-1), torch.ones(1, 4))
    slow = torch.empty(4, 6)
    for step in range(4):
        for place in range(6):
            hidden = torch.tanh(network.of_query.weight @ states[0, step] + encoded.memory[0, place])
            slow[step, place] = network.attention.weight[0] @ hidden
    assert torch.allclose(weights[0], slow.softmax(dim=-1), atol=1e-6)


def test_a_long_attention_in_parts_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    network, inputs = network_of()
    encoded, chosen = network.encode(inputs), torch.zeros((2, 6), dtype=torch.long)
    allowed = torch.ones((6, 3), dtype=torch.bool)
    whole, _ = network.log_probability(encoded, allowed, None, chosen)
    monkeypatch.setattr(sequence_network, "_NUMBERS_A_PART", 2 * 6 * 8 * 4)
    parts, _ = network.log_probability(encoded, allowed, None, chosen)
    assert torch.allclose(whole, parts, atol=1e-6)


def test_all_placements_together_have_probability_one() -> None:
    network, inputs = network_of(places=4, devices=2)
    every = torch.cartesian_prod(*[torch.arange(2)] * 4)
    allowed = torch.tensor([[True, True], [True, False], [True, True], [True, True]])
    logarithms, _ = network.log_probability(network.encode(inputs), allowed, None, every)
    assert torch.isclose(logarithms.exp().sum(), torch.tensor(1.0), atol=1e-5)
    assert (logarithms[every[:, 1] == 1].exp() == 0).all()


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_a_sampled_batch_has_the_probabilities_that_it_was_drawn_with(noise: float) -> None:
    model = model_of(noise)
    seen: list[torch.Tensor] = []

    def overheard(logarithms: torch.Tensor, uniforms: torch.Tensor, *, first_greedy: bool) -> torch.Tensor:
        options = drawn(logarithms, uniforms, first_greedy=first_greedy)
        seen.append(logarithms.gather(-1, options[:, None])[:, 0])
        return options

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sequence_network, "drawn", overheard)
        sampled = model.sample(5, noise > 0, np.random.default_rng(2), never)
    forced, _ = model.log_probability(sampled)
    assert torch.allclose(torch.stack(seen).sum(dim=0), forced, atol=1e-5)
    assert len(set(forced.tolist())) > 1


def test_samples_come_as_often_as_their_probability_says() -> None:
    model = model_of(0.0)
    sampled = model.sample(4000, False, np.random.default_rng(3), never)
    forced = model.log_probability(sampled)[0].exp().detach().numpy()
    rows, first, counts = np.unique(sampled.placements, axis=0, return_index=True, return_counts=True)
    expected = 4000 * forced[first]
    assert len(rows) > 100
    assert (np.abs(counts - expected) < 6 * np.sqrt(expected) + 6).all()


def test_pins_are_kept_and_bound_the_scores() -> None:
    scores = torch.tensor([[[50.0, 0.0, 0.0]]])
    logarithms = log_probabilities(scores, torch.tensor([[False, True, True]]), 0.0)
    assert drawn(logarithms[0], torch.tensor([0.999999])).item() == 2
    assert drawn(logarithms[0], torch.tensor([0.0])).item() == 1


def test_noise_is_as_large_as_the_scores_of_its_step() -> None:
    scores = torch.tensor([[[3.0, -3.0], [1.0, 1.0]]])
    noise = torch.ones((1, 2, 2))
    assert torch.allclose(with_noise(scores, noise, 0.5) - scores, torch.tensor([[[1.5, 1.5], [0.5, 0.5]]]))
    assert with_noise(scores, None, 0.5) is scores


def test_the_first_placements_are_about_uniform() -> None:
    model = model_of(0.0)
    placements = model.sample(2000, False, np.random.default_rng(4), never).placements
    share = (placements[:, 2:, None] == np.arange(4)).mean(axis=(0, 1))
    assert (np.abs(share - 0.25) < 0.1).all()


def test_the_tanh_bounds_the_probability_of_a_device() -> None:
    network, inputs = network_of(devices=2)
    network._settings = RnnSettings(hidden_width=8, tanh_constant=1.0)
    network.scores.weight.data.mul_(1e4)
    logarithms, _ = network.log_probability(
        network.encode(inputs), torch.ones((6, 2), dtype=torch.bool), None, torch.zeros((1, 6), dtype=torch.long)
    )
    most = 6 * float(torch.log_softmax(torch.tensor([1.0, -1.0]), dim=0)[0])
    assert logarithms.item() <= most + 1e-5
