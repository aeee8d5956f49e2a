"""What a form that starts runs shows first: the devices used last, or all that an earlier run asked for."""

from typing import Any

from engine import api
from webapp.policies.models import Policy
from webapp.projects.models import Project
from webapp.runs.devices_text import devices_of_row, devices_used_last
from webapp.runs.machines import machine_choices
from webapp.runs.models import Run
from webapp.runs.with_cluster import WithCluster
from webapp.workers.machine_file import own_machine


def of_project(project: Project) -> dict[str, Any]:
    """The devices of its newest run."""
    return {"cluster": devices_used_last(project, machine_choices(own_machine()))}


def of_run(run: Run) -> dict[str, Any]:
    """All fields of the form of a run, so that it starts as `run` did."""
    assert isinstance(run.settings, dict)
    return {
        **of_problem(run, run.evaluations, run.seconds, run.policy),
        "method": run.method,
        "preset": run.settings.get("preset", ""),
        "seed": run.seed,
        "prefer": run.prefer,
        "drop_devices": run.drop_devices,
        **of_constraints(run.constraints),
        **of_stream(run.stream),
    }


def of_stream(stream: api.Json) -> dict[str, Any]:
    """The objective, and the fields of a stream where there is one."""
    if not isinstance(stream, dict):
        return {"objective": str(api.Objective.STEP_TIME)}
    return {"objective": str(api.Objective.THROUGHPUT), **stream}


def of_constraints(rules: api.Json) -> dict[str, Any]:
    """The field of the rules, one a line."""
    return {"constraints": "\n".join(api.Constraints.from_json(rules or []).lines)}


def of_problem(row: WithCluster, evaluations: int, seconds: float | None, policy: Policy | None) -> dict[str, Any]:
    """Devices, policy and budget, which every form that starts runs has."""
    return {
        "cluster": devices_of(row),
        "evaluations": evaluations,
        "seconds": seconds,
        "policy": "" if policy is None else str(policy.id),
    }


def devices_of(row: WithCluster) -> str:
    """The field of the devices."""
    return devices_of_row(row, machine_choices(own_machine()))
