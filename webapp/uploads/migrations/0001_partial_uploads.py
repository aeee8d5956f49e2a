"""Uploads that arrive in parts."""

import uuid

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("projects", "0002_members"),
    ]

    operations = [
        migrations.CreateModel(
            name="PartialUpload",
            fields=[
                ("deleted_at", models.DateTimeField(editable=False, null=True)),
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=200)),
                ("total_bytes", models.BigIntegerField()),
                ("received_bytes", models.BigIntegerField(default=0)),
                ("sha256", models.CharField(blank=True, default="", max_length=64)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("touched_at", models.DateTimeField(auto_now_add=True)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="partial_uploads",
                        to="projects.project",
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("deleted_at", None)),
                        fields=["project", "-created_at"],
                        name="newest_uploads_of_project",
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at", None)), fields=["touched_at"], name="uploads_by_last_part"
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at__isnull", False)), fields=["deleted_at"], name="deleted_uploads"
                    ),
                ],
            },
        ),
    ]
