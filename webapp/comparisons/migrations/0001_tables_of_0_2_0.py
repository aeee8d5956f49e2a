"""The tables of version 0.2.0."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

import webapp.json_field


class Migration(migrations.Migration):
    replaces = [
        ("comparisons", "0001_initial"),
        ("comparisons", "0002_settings"),
        ("comparisons", "0003_policy"),
        ("comparisons", "0004_compared_run"),
        ("comparisons", "0005_project"),
        ("comparisons", "0006_deleted_rows"),
        ("comparisons", "0007_name"),
    ]

    initial = True

    dependencies = [
        ("graphs", "0001_tables_of_0_2_0"),
        ("policies", "0001_tables_of_0_2_0"),
        ("projects", "0001_tables_of_0_2_0"),
        ("runs", "0001_tables_of_0_2_0"),
    ]

    operations = [
        migrations.CreateModel(
            name="Comparison",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("cluster", webapp.json_field.JsonTextField()),
                ("methods", webapp.json_field.JsonTextField()),
                ("seeds", models.PositiveIntegerField()),
                ("evaluations", models.BigIntegerField()),
                ("seconds", models.FloatField(null=True)),
                ("drop_devices", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "graph",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="comparisons", to="graphs.graph"
                    ),
                ),
                ("settings", webapp.json_field.JsonTextField(default=dict)),
                (
                    "policy",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="comparisons",
                        to="policies.policy",
                    ),
                ),
                ("policy_digest", models.CharField(blank=True, default="", max_length=64)),
                ("policy_name", models.CharField(blank=True, default="", max_length=200)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="comparisons", to="projects.project"
                    ),
                ),
                ("deleted_at", models.DateTimeField(editable=False, null=True)),
                ("name", models.CharField(blank=True, default="", max_length=200)),
            ],
            options={
                "ordering": ("-created_at",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("deleted_at", None)),
                        fields=["graph", "-created_at", "id"],
                        name="newest_comparisons_of_graph",
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at", None)),
                        fields=["project", "-created_at", "id"],
                        name="newest_comparisons_of_project",
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at__isnull", False)),
                        fields=["deleted_at"],
                        name="deleted_comparisons",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ComparedRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "comparison",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="compared_runs",
                        to="comparisons.comparison",
                    ),
                ),
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="compared", to="runs.run"
                    ),
                ),
            ],
            options={
                "ordering": ("id",),
            },
        ),
    ]
