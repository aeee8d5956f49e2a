"""The tables of version 0.2.0."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

import webapp.json_field


class Migration(migrations.Migration):
    replaces = [
        ("graphs", "0001_initial"),
        ("graphs", "0002_options"),
        ("graphs", "0003_revision"),
        ("graphs", "0004_fruitless_attempts"),
        ("graphs", "0005_deleted_rows"),
        ("graphs", "0006_counts"),
    ]

    initial = True

    dependencies = [
        ("projects", "0001_tables_of_0_2_0"),
    ]

    operations = [
        migrations.CreateModel(
            name="Graph",
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
                ("name", models.CharField(max_length=200)),
                ("suffix", models.CharField(max_length=8)),
                ("sample", models.CharField(blank=True, default="", max_length=64)),
                ("file_bytes", models.BigIntegerField(default=0)),
                ("content_hash", models.CharField(blank=True, default="", max_length=64)),
                ("stage", models.CharField(blank=True, default="", max_length=200)),
                ("stage_done", models.BigIntegerField(default=0)),
                ("stage_total", models.BigIntegerField(default=0)),
                ("summary", webapp.json_field.JsonTextField(null=True)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="graphs", to="projects.project"
                    ),
                ),
                ("options", webapp.json_field.JsonTextField(default=dict)),
                ("times_name", models.CharField(blank=True, default="", max_length=200)),
                ("times_bytes", models.BigIntegerField(default=0)),
                (
                    "read_again_from",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="read_again",
                        to="graphs.graph",
                    ),
                ),
                ("revision", models.BigIntegerField(default=0, editable=False)),
                ("fruitless_attempts", models.PositiveSmallIntegerField(default=0, editable=False)),
                ("deleted_at", models.DateTimeField(editable=False, null=True)),
                ("op_count", models.BigIntegerField(null=True)),
                ("group_count", models.BigIntegerField(null=True)),
            ],
            options={
                "ordering": ("-created_at",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("deleted_at", None)),
                        fields=["project", "-created_at"],
                        name="newest_graphs_of_project",
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at", None)),
                        fields=["status", "-created_at"],
                        name="newest_graphs_by_status",
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at", None)),
                        fields=["status", "heartbeat_at"],
                        name="graph_heartbeats",
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at__isnull", False)), fields=["deleted_at"], name="deleted_graphs"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PreparedBlob",
            fields=[
                (
                    "graph",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="prepared",
                        serialize=False,
                        to="graphs.graph",
                    ),
                ),
                ("blob", models.BinaryField()),
                ("view", models.TextField()),
            ],
        ),
    ]
