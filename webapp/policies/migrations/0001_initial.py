"""Policies, their files and the events of their training."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

import webapp.json_field


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Policy",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("status", models.CharField(db_index=True, default="queued", max_length=16)),
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
            ],
            options={
                "ordering": ("-created_at",),
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
        migrations.CreateModel(
            name="TrainingState",
            fields=[
                (
                    "policy",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="state",
                        serialize=False,
                        to="policies.policy",
                    ),
                ),
                ("state", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="PolicyEvent",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("seq", models.BigIntegerField()),
                ("data", models.TextField()),
                (
                    "policy",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="events",
                        to="policies.policy",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("policy", "seq"), name="event_once_a_policy")],
            },
        ),
    ]
