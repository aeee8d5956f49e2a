"""The tables of version 0.2.0."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

import webapp.json_field


class Migration(migrations.Migration):
    replaces = [
        ("policies", "0001_initial"),
        ("policies", "0002_summary"),
        ("policies", "0003_kept_states"),
        ("policies", "0004_newest_first"),
        ("policies", "0005_file_version"),
        ("policies", "0006_events_of_all_jobs"),
        ("policies", "0007_revision"),
        ("policies", "0008_fruitless_attempts"),
        ("policies", "0009_deleted_rows"),
        ("policies", "0010_event_bytes"),
    ]

    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Policy",
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
                ("stage", models.CharField(blank=True, default="", max_length=200)),
                ("stage_done", models.BigIntegerField(default=0)),
                ("stage_total", models.BigIntegerField(default=0)),
                ("name", models.CharField(max_length=200)),
                ("source", models.CharField(default="trained", max_length=16)),
                ("plan", webapp.json_field.JsonTextField(null=True)),
                ("card", webapp.json_field.JsonTextField(null=True)),
                ("digest", models.CharField(blank=True, default="", max_length=64)),
                ("file_bytes", models.BigIntegerField(default=0)),
                ("last_seq", models.BigIntegerField(default=0)),
                ("summary", webapp.json_field.JsonTextField(default=dict)),
                ("note", models.TextField(blank=True, default="")),
                ("file_version", models.PositiveIntegerField(default=0)),
                ("revision", models.BigIntegerField(default=0, editable=False)),
                ("fruitless_attempts", models.PositiveSmallIntegerField(default=0, editable=False)),
                ("deleted_at", models.DateTimeField(editable=False, null=True)),
                ("event_bytes", models.BigIntegerField(default=0, editable=False)),
            ],
            options={
                "ordering": ("-created_at",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("deleted_at", None)), fields=["-created_at"], name="newest_policies"
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at", None)),
                        fields=["status", "-created_at"],
                        name="newest_policies_by_status",
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at", None)),
                        fields=["status", "heartbeat_at"],
                        name="policy_heartbeats",
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at__isnull", False)),
                        fields=["deleted_at"],
                        name="deleted_policies",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PolicyFile",
            fields=[
                (
                    "policy",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="file",
                        serialize=False,
                        to="policies.policy",
                    ),
                ),
                ("blob", models.BinaryField()),
            ],
        ),
    ]
