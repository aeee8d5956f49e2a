"""Trains REGAL's policy on many graphs, as its paper does, to be used on graphs that it has not seen. Loads torch.

An episode is a short genetic search on one graph, with proposals that the policy draws; the graphs take turns. The
reward is the search's best score beside the mean of that graph's earlier ones, in their deviations, so that all graphs
count alike; a plain search on each graph comes first.
Source: Paliwal et al.: REGAL, 2019, arXiv 1905.02494, section 3. Deviation: the paper's reward is relative to the plain
search alone; the mean of earlier episodes, which begins there, keeps the advantages centred.
"""

from collections.abc import Sequence

import numpy as np

from engine.placers.regal.actor import ProposalActor, adam, fresh_network
from engine.placers.regal.placer import Regal, advantage_of
from engine.placers.regal.policy import ProposalPolicy
from engine.placers.regal.proposals import plain_choices
from engine.placers.scorer import Scorer
from engine.placeto.networks.weights import weights_of
from engine.placeto.torch_threads import torch_threads
from engine.problem import MOST_EVALUATIONS, Budget, PlacementProblem


class _OnGraph:
    """The policy in training on one graph, and the scores of the searches there."""

    def __init__(self, problem: PlacementProblem, settings: Regal, rng: np.random.Generator) -> None:
        self.problem = problem.with_budget(Budget(MOST_EVALUATIONS))
        self.scorer = Scorer(self.problem, lambda: False, settings.prior)
        plain = plain_choices(problem.group_count, problem.device_count)
        self._settings = settings
        self.scores = [settings.search(plain, settings.episode_evaluations, self.problem, self.scorer, rng)]

    def learn(self, actor: ProposalActor, rng: np.random.Generator) -> None:
        """One episode, and one step from it."""
        choices = actor.sample(rng)
        evaluations = self._settings.episode_evaluations
        score = self._settings.search(choices, evaluations, self.problem, self.scorer, rng)
        actor.learn(choices, advantage_of(score, self.scores))
        self.scores.append(score)


def train_on_family(
    problems: Sequence[PlacementProblem], settings: Regal, episodes: int, rng: np.random.Generator
) -> ProposalPolicy:
    """A policy trained over `episodes` searches of `settings.episode_evaluations` each, and a plain one on each graph.

    All `problems` have one number of devices; their ledgers stay as they are. Raises SettingsError for several numbers.
    """
    devices = problems[0].device_count
    network = fresh_network(devices, settings.width, settings.message_rounds, rng)
    untrained = ProposalPolicy(weights_of(network), devices, settings.width, settings.message_rounds)
    for problem in problems:
        untrained.require_devices(problem.device_count)
    optimiser = adam(network, settings.learning_rate)
    with torch_threads(settings.torch_threads):
        graphs = [_OnGraph(problem, settings, rng) for problem in problems]
        actors = [ProposalActor(each.scorer.graph, network, optimiser) for each in graphs]
        for episode in range(episodes):
            turn = episode % len(graphs)
            graphs[turn].learn(actors[turn], rng)
    return ProposalPolicy(weights_of(network), devices, settings.width, settings.message_rounds)
