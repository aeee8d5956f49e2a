"""Deleted rows are marked and purged later; lists and reapers find their rows by an index."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("graphs", "0005_deleted_rows"),
        ("policies", "0009_deleted_rows"),
        ("projects", "0002_deleted_rows"),
        ("runs", "0008_project"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="deleted_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AlterField(
            model_name="run",
            name="project",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="runs", to="projects.project"
            ),
        ),
        migrations.AlterField(
            model_name="run",
            name="status",
            field=models.CharField(default="queued", max_length=16),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("deleted_at", None)),
                fields=["graph", "-created_at", "id"],
                name="newest_runs_of_graph",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("deleted_at", None)),
                fields=["project", "-created_at", "id"],
                name="newest_runs_of_project",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("deleted_at", None)), fields=["policy", "-created_at"], name="newest_runs_of_policy"
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("deleted_at", None)), fields=["status", "-created_at"], name="newest_runs_by_status"
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("deleted_at", None)), fields=["status", "heartbeat_at"], name="run_heartbeats"
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("deleted_at__isnull", False)), fields=["deleted_at"], name="deleted_runs"
            ),
        ),
    ]
