"""Jobs count their changes; runs keep their events in short."""

import django.db.models.deletion
from django.db import migrations, models

import webapp.json_field


class Migration(migrations.Migration):
    dependencies = [("runs", "0004_events_of_all_jobs")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="revision",
            field=models.BigIntegerField(default=0, editable=False),
        ),
        migrations.CreateModel(
            name="RunSummary",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="summary",
                        serialize=False,
                        to="runs.run",
                    ),
                ),
                ("seq", models.BigIntegerField()),
                ("heard", webapp.json_field.JsonTextField()),
            ],
        ),
    ]
