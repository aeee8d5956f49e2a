"""REGAL: a graph network chooses, for each group, the distributions and the bias with which a genetic search works.

Deviation: the published policy is trained beforehand on many graphs; `family_training` does so, and `place_with` uses
such a policy. A run has one graph and its own budget, so there `training_share` of the budget goes to short searches,
each a bandit's episode: the policy chooses the proposals, and the reward is the search's best score, compared with the
mean of earlier episodes; the first episode is a plain search. The rest goes to one search with the most probable
proposals. If the budget is too small for that, one plain search gets all of it. Keys for the order of ops are left out,
since the simulator decides the order. A value marked "ours" is our choice, since the parts of the paper that we know
give none. Loads torch only when it trains or uses a policy.
Source: Paliwal, Gimeno, Nair, Li, Lubin, Kohli, Vinyals: REGAL, 2019, arXiv 1905.02494.
"""

from dataclasses import dataclass

import numpy as np

from engine.events import ShouldStop
from engine.placers.brkga import breed, shares_of, with_prior
from engine.placers.regal.policy import ProposalPolicy
from engine.placers.regal.proposals import Choices, plain_choices, proposals_of
from engine.placers.scorer import Scorer
from engine.problem import PlacementProblem
from engine.problem.learning import Learned
from engine.settings import learners, machine
from engine.settings.fields import number, require_allowed, whole


@dataclass(frozen=True, slots=True)
class Regal:
    """Trains a policy on short searches, then searches with it; a published search has about 5,000 evaluations."""

    population: int = whole(50, 4, 100_000, "vectors of keys in a generation, as in `brkga` (ours)")
    elite_share: float = number(
        0.25, 0.0, 1.0, "share of the population that is kept and bred from, as in `brkga` (ours)"
    )
    mutant_share: float = number(0.1, 0.0, 1.0, "share of the population that is drawn anew, as in `brkga` (ours)")
    training_share: float = number(0.5, 0.0, 1.0, "share of the budget that goes to the policy's training (ours)")
    episode_evaluations: int = whole(60, 1, 1_000_000, "evaluations of each search in the training (ours)")
    width: int = whole(32, 1, 1024, "width of a group's embedding in the graph network (ours)")
    message_rounds: int = whole(2, 0, 64, "rounds of message passing in each direction (ours)")
    learning_rate: float = number(0.03, 1e-9, 1.0, "learning rate of Adam (ours)")
    prior: str = learners.prior()
    frozen: bool = learners.frozen()
    torch_threads: int = machine.torch_threads()

    def __post_init__(self) -> None:
        require_allowed(self, "regal")
        shares_of("regal", self.population, self.elite_share, self.mutant_share)

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        scorer = Scorer(problem, should_stop, self.prior)
        episodes = int(self.training_share * problem.ledger.remaining) // self.episode_evaluations
        if episodes < 2:
            problem.context.progress("regal: the budget is too small to train a policy; plain proposals", 0, 0)
            choices = plain_choices(problem.group_count, problem.device_count)
        else:
            choices = self._trained(episodes, problem, scorer, rng)
        if not scorer.over():
            self.search(choices, problem.ledger.remaining, problem, scorer, rng)

    def place_with(
        self, policy: ProposalPolicy, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop
    ) -> None:
        """Give the whole budget to one search with the most probable proposals of `policy`, trained beforehand.

        Raises SettingsError for a problem with another number of devices than the policy was trained on.
        """
        from engine.placers.regal.actor import ProposalActor, adam, trained_network

        policy.require_devices(problem.device_count)
        scorer = Scorer(problem, should_stop, self.prior)
        network = trained_network(policy)
        choices = ProposalActor(scorer.graph, network, adam(network, self.learning_rate)).most_probable()
        self.search(choices, problem.ledger.remaining, problem, scorer, rng)

    def _trained(self, episodes: int, problem: PlacementProblem, scorer: Scorer, rng: np.random.Generator) -> Choices:
        """The most probable choices of a policy that learned from `episodes` searches, the plain one included.

        There are fewer searches if the training's share of the seconds ends first.
        """
        from engine.placers.regal.actor import ProposalActor, adam, fresh_network
        from engine.placeto.torch_threads import torch_threads  # torch takes seconds to load

        spent = problem.ledger.share_spent
        enough = spent + self.training_share * (1.0 - spent)
        plain = plain_choices(problem.group_count, problem.device_count)
        scores = [self.search(plain, self.episode_evaluations, problem, scorer, rng)]
        learning_rate = learners.learning_rate(self.learning_rate, is_frozen=self.frozen)
        with torch_threads(self.torch_threads):
            network = fresh_network(problem.device_count, self.width, self.message_rounds, rng)
            actor = ProposalActor(scorer.graph, network, adam(network, learning_rate))
            for _ in range(episodes - 1):
                if scorer.over() or problem.ledger.share_spent >= enough:
                    break
                choices = actor.sample(rng)
                score = self.search(choices, self.episode_evaluations, problem, scorer, rng)
                entropy = actor.learn(choices, advantage_of(score, scores))
                problem.context.learned(
                    Learned(
                        mean_return=-score,
                        return_baseline=-float(np.mean(scores)),
                        entropy=entropy,
                        learning_rate=learning_rate,
                    )
                )
                scores.append(score)
            return actor.most_probable()

    def search(
        self, choices: Choices, evaluations: int, problem: PlacementProblem, scorer: Scorer, rng: np.random.Generator
    ) -> float:
        """Run one genetic search of `evaluations` evaluations with the proposals of `choices`; its best score."""
        shares = shares_of("regal", self.population, self.elite_share, self.mutant_share)
        proposals = with_prior(proposals_of(choices), scorer.graph)
        return breed(problem, scorer, proposals, shares, evaluations, rng)


def advantage_of(score: float, earlier: list[float]) -> float:
    """The number of standard deviations by which `score` is below the mean of the `earlier` scores."""
    deviation = float(np.std([*earlier, score]))
    return (float(np.mean(earlier)) - score) / deviation if deviation > 0 else 0.0
