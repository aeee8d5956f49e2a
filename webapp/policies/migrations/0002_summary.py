"""Policies keep what lists tell of them, so that these need no plan and no card."""

from typing import Any

from django.db import migrations

import webapp.json_text
from webapp.policies.summary import summary_of_card, summary_of_plan
from webapp.policies.training_plan import TrainingPlan


def write_summaries(apps: Any, _schema: object) -> None:
    """For what was stored before."""
    policies = apps.get_model("policies", "Policy").objects
    for policy_id in list(policies.values_list("id", flat=True)):
        policy = policies.get(id=policy_id)  # one by one: a card may be large
        plan = {} if policy.plan is None else summary_of_plan(TrainingPlan.from_json(policy.plan)).to_json()
        summary = plan if policy.card is None else summary_of_card(policy.card).to_json()
        policies.filter(id=policy_id).update(summary=summary)


class Migration(migrations.Migration):
    dependencies = [("policies", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="policy",
            name="summary",
            field=webapp.json_text.JsonTextField(default=dict),
        ),
        migrations.RunPython(write_summaries, migrations.RunPython.noop),
    ]
