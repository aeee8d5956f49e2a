"""Policies get a summary for lists, which then read no plan and no card."""

from typing import Any

from django.db import migrations

import webapp.json_field

# What a summary was when this was written: the application's own may change, and a migration must not change with it.
MOST_NAMED = 6
LONGEST_CLUSTER = 40


def write_summaries(apps: Any, _schema: object) -> None:
    """For what was stored before."""
    policies = apps.get_model("policies", "Policy").objects
    for policy_id in list(policies.values_list("id", flat=True)):
        policy = policies.get(id=policy_id)  # one by one: a card may be large
        if policy.card is not None:
            policies.filter(id=policy_id).update(summary=_of_card(policy.card))
        elif policy.plan is not None:
            policies.filter(id=policy_id).update(summary=_of_trained_on(policy.plan))


def _of_card(card: dict[str, Any]) -> dict[str, Any]:
    """A value that an older card lacks is 0 in a held-out row, and absent elsewhere."""
    rows = card.get("held_out") or []
    return _of_trained_on(card) | {
        "seconds": card.get("seconds"),
        "mean_gap": card.get("mean_gap"),
        "worst_gap": card.get("worst_gap"),
        "search_seconds": min((row.get("search_seconds", 0) for row in rows), default=None),
        "search_evaluations": min((row.get("search_evaluations", 0) for row in rows), default=None),
    }


def _of_trained_on(stored: dict[str, Any]) -> dict[str, Any]:
    """Of a plan, or the same of a card."""
    families, graphs, clusters = (stored.get(name) or [] for name in ("families", "graphs", "clusters"))
    return {
        "families": families[:MOST_NAMED],
        "family_count": len(families),
        "graph_count": len(graphs),
        "clusters": [_short(name) for name in clusters[:MOST_NAMED]],
        "cluster_count": len(clusters),
        "seconds": None,
        "mean_gap": None,
        "worst_gap": None,
        "search_seconds": None,
        "search_evaluations": None,
    }


def _short(cluster: str) -> str:
    return cluster if len(cluster) <= LONGEST_CLUSTER else f"{cluster[: LONGEST_CLUSTER - 1]}…"


class Migration(migrations.Migration):
    dependencies = [("policies", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="policy",
            name="summary",
            field=webapp.json_field.JsonTextField(default=dict),
        ),
        migrations.RunPython(write_summaries, migrations.RunPython.noop),
    ]
