"""The tables of version 0.2.0."""

import uuid

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [("sharing", "0001_initial")]

    initial = True

    dependencies = [
        ("comparisons", "0001_tables_of_0_2_0"),
        ("runs", "0001_tables_of_0_2_0"),
    ]

    operations = [
        migrations.CreateModel(
            name="ShareLink",
            fields=[
                ("deleted_at", models.DateTimeField(editable=False, null=True)),
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "comparison",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="share_links",
                        to="comparisons.comparison",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="share_links",
                        to="runs.run",
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("deleted_at", None)),
                        fields=["run", "-created_at"],
                        name="newest_links_of_run",
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at", None)),
                        fields=["comparison", "-created_at"],
                        name="newest_links_of_comparison",
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at__isnull", False)), fields=["deleted_at"], name="deleted_links"
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("comparison__isnull", False), ("run", None)),
                            models.Q(("comparison", None), ("run__isnull", False)),
                            _connector="OR",
                        ),
                        name="link_to_one_thing",
                    )
                ],
            },
        ),
    ]
