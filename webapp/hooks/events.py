"""The events that webhooks can ask for."""

RUN_FINISHED = "run.finished"
RUN_BETTER = "run.better_found"
RUN_FAILED = "run.failed"
COMPARISON_FINISHED = "comparison.finished"
PLAN_FINISHED = "plan.finished"
PLAN_FAILED = "plan.failed"
TRAINING_FINISHED = "training.finished"
TRAINING_FAILED = "training.failed"
TEST = "test"
"""that a person sends to try a webhook; none can ask for it"""

EVENTS: dict[str, str] = {
    RUN_FINISHED: "A run has finished",
    RUN_BETTER: "A run has found a better placement",
    RUN_FAILED: "A run has failed",
    COMPARISON_FINISHED: "A comparison has finished",
    PLAN_FINISHED: "A search for plans has finished",
    PLAN_FAILED: "A search for plans has failed",
    TRAINING_FINISHED: "A training has finished",
    TRAINING_FAILED: "A training has failed",
}
"""name → what it means, in the order of the pages"""
USUAL = (RUN_FINISHED, RUN_FAILED, COMPARISON_FINISHED, PLAN_FINISHED)
"""those that a new webhook asks for until a person says otherwise"""


def event_words(event: str) -> str:
    """What the event means; of a test that it is one."""
    return EVENTS.get(event, "A test of this webhook" if event == TEST else event)
