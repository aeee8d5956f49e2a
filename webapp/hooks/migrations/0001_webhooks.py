"""Webhooks, their deliveries, and until when events have been read."""

import uuid

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

import webapp.json_field


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("projects", "0002_members"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="EventsRead",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("until", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Webhook",
            fields=[
                ("deleted_at", models.DateTimeField(editable=False, null=True)),
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=200)),
                ("kind", models.CharField(default="webhook", max_length=16)),
                ("target", models.TextField()),
                ("secret_salt", models.CharField(max_length=64)),
                ("events", webapp.json_field.JsonTextField(default=list)),
                ("origin", models.CharField(blank=True, default="", max_length=300)),
                ("is_active", models.BooleanField(default=True)),
                (
                    "listens_since",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="webhooks", to="projects.project"
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at",),
            },
        ),
        migrations.CreateModel(
            name="Delivery",
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
                ("event", models.CharField(max_length=32)),
                ("key", models.CharField(max_length=64)),
                ("subject_id", models.UUIDField(null=True)),
                ("step_time_us", models.FloatField(null=True)),
                ("body", models.TextField()),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                ("next_try_at", models.DateTimeField(null=True)),
                ("status_code", models.PositiveSmallIntegerField(null=True)),
                ("answer", models.CharField(blank=True, default="", max_length=500)),
                (
                    "started_by",
                    models.ForeignKey(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "webhook",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="deliveries", to="hooks.webhook"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "deliveries",
                "ordering": ("-created_at",),
            },
        ),
        migrations.AddIndex(
            model_name="webhook",
            index=models.Index(
                condition=models.Q(("deleted_at", None)),
                fields=["project", "-created_at"],
                name="newest_hooks_of_project",
            ),
        ),
        migrations.AddIndex(
            model_name="webhook",
            index=models.Index(
                condition=models.Q(("deleted_at__isnull", False)), fields=["deleted_at"], name="deleted_hooks"
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("deleted_at", None)),
                fields=["webhook", "-created_at", "id"],
                name="newest_deliveries_of_hook",
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("deleted_at", None)),
                fields=["status", "-created_at"],
                name="newest_deliveries_by_status",
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("deleted_at", None)), fields=["status", "heartbeat_at"], name="delivery_heartbeats"
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("deleted_at", None)),
                fields=["subject_id", "event"],
                name="deliveries_about_subject",
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("deleted_at__isnull", False)), fields=["deleted_at"], name="deleted_deliveries"
            ),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.UniqueConstraint(fields=("webhook", "event", "key"), name="event_once_a_webhook"),
        ),
    ]
