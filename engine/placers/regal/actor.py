"""REGAL's policy: a graph network that chooses each group's key distributions and elite bias. Trained as a bandit.

Source: Paliwal et al. 2019 (REGAL), section 3: message passing over the graph, independent choices at every node,
REINFORCE on the search's result.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch_geometric.data import Data

from engine.placers.regal.policy import ProposalPolicy
from engine.placers.regal.proposals import DISTRIBUTIONS, ELITE_BIASES, Choices
from engine.placeto.networks.choices import initialise, score_equally
from engine.placeto.networks.message_passing import TwoWayRounds, data_of
from engine.placeto.networks.weights import set_weights
from engine.placeto.seeing.features import GROUP_FEATURES, GroupGraph

BIASES = len(ELITE_BIASES)


class ProposalNetwork(nn.Module):
    """Scores each group's choices: returns [groups, devices · DISTRIBUTIONS + BIASES]."""

    def __init__(self, devices: int, width: int, rounds: int) -> None:
        super().__init__()
        self.rounds = TwoWayRounds(GROUP_FEATURES, width, rounds)
        self.hidden = nn.Linear(GROUP_FEATURES + 2 * width, width)
        self.scores = nn.Linear(width, devices * DISTRIBUTIONS + BIASES)

    def forward(self, data: Data) -> Tensor:
        """`data` as `message_passing.data_of` makes it."""
        embedded = torch.cat([data.x, self.rounds(data)], dim=-1)
        scores: Tensor = self.scores(torch.relu(self.hidden(embedded)))
        return scores


def fresh_network(devices: int, width: int, rounds: int, rng: np.random.Generator) -> ProposalNetwork:
    """A network with weights from `rng`, for which all choices are equally probable."""
    with torch.device("meta"):
        network = ProposalNetwork(devices, width, rounds)
    initialise(network, rng, torch.device("cpu"))
    score_equally(network.scores)
    return network


def trained_network(policy: ProposalPolicy) -> ProposalNetwork:
    """The network of `policy`. Raises SettingsError if its weights do not fit its sizes."""
    with torch.device("meta"):
        network = ProposalNetwork(policy.devices, policy.width, policy.message_rounds)
    set_weights(network.to_empty(device="cpu"), policy.weights, "REGAL's policy")
    return network


def adam(network: ProposalNetwork, learning_rate: float) -> torch.optim.Adam:
    """The optimiser of `network`."""
    return torch.optim.Adam(network.parameters(), lr=learning_rate)


class ProposalActor:
    """The policy for one graph; its network and optimiser may belong to several graphs."""

    def __init__(self, graph: GroupGraph, network: ProposalNetwork, optimiser: torch.optim.Adam) -> None:
        self._groups, self._devices = graph.group_count, graph.device_count
        self._data = data_of(graph, torch.device("cpu"))
        self._network, self._optimiser = network, optimiser

    def probabilities(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The probabilities of the choices: ([groups, devices, DISTRIBUTIONS], [groups, BIASES])."""
        with torch.no_grad():
            distributions, biases = self._logarithms()
        return distributions.exp().double().numpy(), biases.exp().double().numpy()

    def sample(self, rng: np.random.Generator) -> Choices:
        """Draw choices by their probabilities."""
        distributions, biases = self.probabilities()
        return Choices(_drawn(distributions, rng), _drawn(biases, rng))

    def most_probable(self) -> Choices:
        """The most probable choices, the first of equals."""
        distributions, biases = self.probabilities()
        return Choices(distributions.argmax(axis=-1), biases.argmax(axis=-1))

    def learn(self, choices: Choices, advantage: float) -> float:
        """Take one step of REINFORCE: make `choices` likelier if `advantage` is above 0, else less likely.

        Returns the mean entropy of a choice before the step, in nats.
        """
        distributions, biases = self._logarithms()
        chosen = distributions.gather(-1, torch.from_numpy(choices.distributions)[..., None]).sum()
        chosen = chosen + biases.gather(-1, torch.from_numpy(choices.biases)[..., None]).sum()
        self._optimiser.zero_grad(set_to_none=True)
        loss = -advantage * chosen / (self._groups * (self._devices + 1))
        loss.backward()  # type: ignore[no-untyped-call]  # torch's own
        self._optimiser.step()
        with torch.no_grad():
            entropy = -(distributions.exp() * distributions).sum() - (biases.exp() * biases).sum()
        return float(entropy) / (self._groups * (self._devices + 1))

    def _logarithms(self) -> tuple[Tensor, Tensor]:
        scores = self._network(self._data)
        split = self._devices * DISTRIBUTIONS
        distributions = scores[:, :split].reshape(self._groups, self._devices, DISTRIBUTIONS)
        return torch.log_softmax(distributions, dim=-1), torch.log_softmax(scores[:, split:], dim=-1)


def _drawn(probabilities: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """[...] an index drawn by its probability from `probabilities` [..., choices]."""
    upper = np.cumsum(probabilities, axis=-1)
    drawn = rng.random(upper.shape[:-1]) * upper[..., -1]
    return np.asarray((upper <= drawn[..., None]).sum(axis=-1), dtype=np.int64)
