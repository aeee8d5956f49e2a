"""The tables of version 0.2.0."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

import webapp.json_field


class Migration(migrations.Migration):
    replaces = [("placements", "0001_initial")]

    initial = True

    dependencies = [
        ("graphs", "0001_tables_of_0_2_0"),
        ("projects", "0001_tables_of_0_2_0"),
        ("runs", "0001_tables_of_0_2_0"),
    ]

    operations = [
        migrations.CreateModel(
            name="Placement",
            fields=[
                ("deleted_at", models.DateTimeField(editable=False, null=True)),
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=200)),
                ("origin", models.CharField(max_length=8)),
                ("cluster", webapp.json_field.JsonTextField()),
                ("drop_devices", models.BooleanField(default=False)),
                ("run_seq", models.BigIntegerField(null=True)),
                ("device_of_group", webapp.json_field.JsonTextField()),
                ("device_of_split_op", webapp.json_field.JsonTextField(default=list)),
                ("split_groups", models.PositiveIntegerField(default=0)),
                ("locked_groups", webapp.json_field.JsonTextField(default=list)),
                ("step_time_us", models.FloatField()),
                ("missing_bytes", models.BigIntegerField()),
                ("peak_bytes", webapp.json_field.JsonTextField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "graph",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="placements", to="graphs.graph"
                    ),
                ),
                (
                    "parent",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="children",
                        to="placements.placement",
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="placements", to="projects.project"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="kept_placements",
                        to="runs.run",
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("deleted_at", None)),
                        fields=["graph", "-created_at", "id"],
                        name="newest_placements_of_graph",
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at__isnull", False)),
                        fields=["deleted_at"],
                        name="deleted_placements",
                    ),
                ],
            },
        ),
    ]
