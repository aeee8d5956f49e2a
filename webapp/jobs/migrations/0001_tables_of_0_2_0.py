"""The tables of version 0.2.0."""

from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [("jobs", "0001_events_of_all_jobs"), ("jobs", "0002_health_mark"), ("jobs", "0003_turn")]

    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Event",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("job_id", models.UUIDField()),
                ("seq", models.BigIntegerField()),
                ("type", models.CharField(max_length=16)),
                ("data", models.TextField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("job_id", "seq"), name="event_once_a_job")],
            },
        ),
        migrations.CreateModel(
            name="SavedState",
            fields=[
                ("job_id", models.UUIDField(primary_key=True, serialize=False)),
                ("seq", models.BigIntegerField(default=0)),
                ("identity", models.CharField(blank=True, default="", max_length=64)),
                ("state", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="HealthMark",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("written_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Turn",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("queue", models.CharField(max_length=16)),
                ("owner_id", models.UUIDField()),
                ("taken_at", models.DateTimeField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("queue", "owner_id"), name="turn_once_an_owner")],
            },
        ),
    ]
