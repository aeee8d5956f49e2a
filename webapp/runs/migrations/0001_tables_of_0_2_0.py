"""The tables of version 0.2.0."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

import webapp.json_field


class Migration(migrations.Migration):
    replaces = [
        ("runs", "0001_initial"),
        ("runs", "0002_drop_devices"),
        ("runs", "0003_policy"),
        ("runs", "0004_events_of_all_jobs"),
        ("runs", "0005_revision"),
        ("runs", "0006_summary_content"),
        ("runs", "0007_fruitless_attempts"),
        ("runs", "0008_project"),
        ("runs", "0009_deleted_rows"),
        ("runs", "0010_kept_events"),
        ("runs", "0011_run_start"),
        ("runs", "0012_name"),
        ("runs", "0013_event_bytes"),
        ("runs", "0014_parts"),
        ("decisions", "0001_kept_policy"),
    ]

    initial = True

    dependencies = [
        ("graphs", "0001_tables_of_0_2_0"),
        ("policies", "0001_tables_of_0_2_0"),
        ("projects", "0001_tables_of_0_2_0"),
    ]

    operations = [
        migrations.CreateModel(
            name="Run",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("status", models.CharField(default="queued", max_length=16)),
                ("claim", models.UUIDField(editable=False, null=True)),
                ("worker", models.CharField(default="", editable=False, max_length=36)),
                ("heartbeat_at", models.DateTimeField(editable=False, null=True)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("cancel_requested", models.BooleanField(default=False)),
                ("error", models.TextField(blank=True, default="")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("cluster", webapp.json_field.JsonTextField()),
                ("method", models.CharField(max_length=64)),
                ("settings", webapp.json_field.JsonTextField()),
                ("evaluations", models.BigIntegerField()),
                ("seconds", models.FloatField(null=True)),
                ("seed", models.BigIntegerField()),
                ("last_seq", models.BigIntegerField(default=0)),
                ("evaluations_used", models.BigIntegerField(default=0)),
                ("best_step_time_us", models.FloatField(null=True)),
                (
                    "graph",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="runs", to="graphs.graph"
                    ),
                ),
                ("drop_devices", models.BooleanField(default=False)),
                (
                    "policy",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="runs",
                        to="policies.policy",
                    ),
                ),
                ("policy_digest", models.CharField(blank=True, default="", max_length=64)),
                ("policy_name", models.CharField(blank=True, default="", max_length=200)),
                ("revision", models.BigIntegerField(default=0, editable=False)),
                ("fruitless_attempts", models.PositiveSmallIntegerField(default=0, editable=False)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="runs", to="projects.project"
                    ),
                ),
                ("deleted_at", models.DateTimeField(editable=False, null=True)),
                ("kept_events", models.BigIntegerField(editable=False, null=True)),
                ("name", models.CharField(blank=True, default="", max_length=200)),
                ("event_bytes", models.BigIntegerField(default=0, editable=False)),
            ],
            options={
                "ordering": ("-created_at",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("deleted_at", None)),
                        fields=["graph", "-created_at", "id"],
                        name="newest_runs_of_graph",
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at", None)),
                        fields=["project", "-created_at", "id"],
                        name="newest_runs_of_project",
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at", None)),
                        fields=["policy", "-created_at"],
                        name="newest_runs_of_policy",
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at", None)),
                        fields=["status", "-created_at"],
                        name="newest_runs_by_status",
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at", None)),
                        fields=["status", "heartbeat_at"],
                        name="run_heartbeats",
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at__isnull", False)), fields=["deleted_at"], name="deleted_runs"
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at", None), ("kept_events", None)),
                        fields=["finished_at"],
                        name="runs_to_thin",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Answer",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="answer",
                        serialize=False,
                        to="runs.run",
                    ),
                ),
                ("step_time_us", models.FloatField()),
                ("device_of_group", webapp.json_field.JsonTextField()),
                ("report", webapp.json_field.JsonTextField(null=True)),
                ("parts", webapp.json_field.JsonTextField(default=list)),
            ],
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
                ("content", webapp.json_field.JsonTextField()),
            ],
        ),
        migrations.CreateModel(
            name="RunStart",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="start",
                        serialize=False,
                        to="runs.run",
                    ),
                ),
                ("device_of_group", webapp.json_field.JsonTextField()),
                ("pinned_groups", webapp.json_field.JsonTextField(default=list)),
                ("words", models.CharField(max_length=300)),
                ("from_token", models.CharField(blank=True, default="", max_length=120)),
                (
                    "from_run",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="continued", to="runs.run"
                    ),
                ),
                ("parts", webapp.json_field.JsonTextField(default=list)),
            ],
        ),
        migrations.CreateModel(
            name="KeptPolicy",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="kept_policy",
                        serialize=False,
                        to="runs.run",
                    ),
                ),
                ("policy", models.BinaryField()),
            ],
            options={
                "db_table": "decisions_keptpolicy",
            },
        ),
    ]
