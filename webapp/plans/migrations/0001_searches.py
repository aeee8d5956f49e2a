"""Searches for plans, their reports, and what was opened of them."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

import webapp.json_field


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("graphs", "0001_tables_of_0_2_0"),
        ("projects", "0001_tables_of_0_2_0"),
        ("runs", "0004_constraints"),
    ]

    operations = [
        migrations.CreateModel(
            name="PlanSearch",
            fields=[
                ("deleted_at", models.DateTimeField(editable=False, null=True)),
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("status", models.CharField(default="queued", max_length=16)),
                ("claim", models.UUIDField(editable=False, null=True)),
                ("worker", models.CharField(default="", editable=False, max_length=36)),
                ("heartbeat_at", models.DateTimeField(editable=False, null=True)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("fruitless_attempts", models.PositiveSmallIntegerField(default=0, editable=False)),
                ("cancel_requested", models.BooleanField(default=False)),
                ("error", models.TextField(blank=True, default="")),
                ("revision", models.BigIntegerField(default=0, editable=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("last_seq", models.BigIntegerField(default=0)),
                ("event_bytes", models.BigIntegerField(default=0, editable=False)),
                ("cluster", webapp.json_field.JsonTextField()),
                ("second_name", models.CharField(blank=True, default="", max_length=200)),
                ("batch", models.BigIntegerField()),
                ("seconds", models.FloatField()),
                ("plan_rules", webapp.json_field.JsonTextField()),
                ("seed", models.BigIntegerField(default=0)),
                ("drop_devices", models.BooleanField(default=False)),
                ("name", models.CharField(blank=True, default="", max_length=200)),
                ("best_batch_us", models.FloatField(null=True)),
                ("plans_told", models.BigIntegerField(default=0)),
                (
                    "graph",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="plan_searches", to="graphs.graph"
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="plan_searches", to="projects.project"
                    ),
                ),
                (
                    "second",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="second_of",
                        to="graphs.graph",
                    ),
                ),
            ],
            options={
                "verbose_name": "search for plans",
                "verbose_name_plural": "searches for plans",
                "ordering": ("-created_at",),
            },
        ),
        migrations.CreateModel(
            name="PlanReport",
            fields=[
                (
                    "search",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="report",
                        serialize=False,
                        to="plans.plansearch",
                    ),
                ),
                ("content", webapp.json_field.JsonTextField()),
            ],
        ),
        migrations.CreateModel(
            name="OpenedReplica",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("plan", models.CharField(max_length=64)),
                ("replica", models.PositiveIntegerField()),
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="replica", to="runs.run"
                    ),
                ),
                (
                    "search",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="opened", to="plans.plansearch"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SizedGraph",
            fields=[
                (
                    "graph",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="sized",
                        serialize=False,
                        to="graphs.graph",
                    ),
                ),
                ("samples", models.PositiveIntegerField()),
                (
                    "first",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="graphs.graph"),
                ),
                (
                    "second",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="graphs.graph"),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="plansearch",
            index=models.Index(
                condition=models.Q(("deleted_at", None)),
                fields=["graph", "-created_at", "id"],
                name="newest_searches_of_graph",
            ),
        ),
        migrations.AddIndex(
            model_name="plansearch",
            index=models.Index(
                condition=models.Q(("deleted_at", None)),
                fields=["project", "-created_at", "id"],
                name="newest_searches_of_project",
            ),
        ),
        migrations.AddIndex(
            model_name="plansearch",
            index=models.Index(
                condition=models.Q(("deleted_at", None)),
                fields=["status", "-created_at"],
                name="newest_searches_by_status",
            ),
        ),
        migrations.AddIndex(
            model_name="plansearch",
            index=models.Index(
                condition=models.Q(("deleted_at", None)), fields=["status", "heartbeat_at"], name="search_heartbeats"
            ),
        ),
        migrations.AddIndex(
            model_name="plansearch",
            index=models.Index(
                condition=models.Q(("deleted_at__isnull", False)), fields=["deleted_at"], name="deleted_searches"
            ),
        ),
    ]
