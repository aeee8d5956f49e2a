"""The tables of version 0.2.0."""

import uuid

from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [("projects", "0001_initial"), ("projects", "0002_deleted_rows")]

    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Project",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=200)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("deleted_at", models.DateTimeField(editable=False, null=True)),
            ],
            options={
                "ordering": ("-created_at",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("deleted_at", None)), fields=["-created_at"], name="newest_projects"
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at__isnull", False)),
                        fields=["deleted_at"],
                        name="deleted_projects",
                    ),
                ],
            },
        ),
    ]
