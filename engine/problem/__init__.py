"""The placement problem: a graph with its costs and groups on a cluster, and the context of its run."""

from engine.problem.context import RunContext
from engine.problem.ledger import MOST_EVALUATIONS, Budget, BudgetSpentError, ChunkBest, Clock, Ledger, LedgerState
from engine.problem.problem import PlacementProblem

__all__ = [
    "MOST_EVALUATIONS",
    "Budget",
    "BudgetSpentError",
    "ChunkBest",
    "Clock",
    "Ledger",
    "LedgerState",
    "PlacementProblem",
    "RunContext",
]
