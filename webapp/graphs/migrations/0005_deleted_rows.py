"""Deleted rows are marked and purged later; lists and reapers find their rows by an index."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("graphs", "0004_fruitless_attempts"),
        ("projects", "0002_deleted_rows"),
    ]

    operations = [
        migrations.AddField(
            model_name="graph",
            name="deleted_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AlterField(
            model_name="graph",
            name="status",
            field=models.CharField(default="queued", max_length=16),
        ),
        migrations.AddIndex(
            model_name="graph",
            index=models.Index(
                condition=models.Q(("deleted_at", None)),
                fields=["project", "-created_at"],
                name="newest_graphs_of_project",
            ),
        ),
        migrations.AddIndex(
            model_name="graph",
            index=models.Index(
                condition=models.Q(("deleted_at", None)),
                fields=["status", "-created_at"],
                name="newest_graphs_by_status",
            ),
        ),
        migrations.AddIndex(
            model_name="graph",
            index=models.Index(
                condition=models.Q(("deleted_at", None)), fields=["status", "heartbeat_at"], name="graph_heartbeats"
            ),
        ),
        migrations.AddIndex(
            model_name="graph",
            index=models.Index(
                condition=models.Q(("deleted_at__isnull", False)), fields=["deleted_at"], name="deleted_graphs"
            ),
        ),
    ]
