"""Deleted rows are marked and purged later; lists and reapers find their rows by an index."""

from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [("profiles", "0004_deleted_rows")]

    dependencies = [
        ("graphs", "0005_deleted_rows"),
        ("measuring", "0003_fruitless_attempts"),
    ]

    operations = [
        migrations.AddField(
            model_name="profile",
            name="deleted_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AlterField(
            model_name="profile",
            name="status",
            field=models.CharField(default="queued", max_length=16),
        ),
        migrations.AddIndex(
            model_name="profile",
            index=models.Index(
                condition=models.Q(("deleted_at", None)),
                fields=["graph", "-created_at"],
                name="newest_profiles_of_graph",
            ),
        ),
        migrations.AddIndex(
            model_name="profile",
            index=models.Index(
                condition=models.Q(("deleted_at", None)),
                fields=["status", "-created_at"],
                name="newest_profiles_by_status",
            ),
        ),
        migrations.AddIndex(
            model_name="profile",
            index=models.Index(
                condition=models.Q(("deleted_at", None)), fields=["status", "heartbeat_at"], name="profile_heartbeats"
            ),
        ),
        migrations.AddIndex(
            model_name="profile",
            index=models.Index(
                condition=models.Q(("deleted_at__isnull", False)), fields=["deleted_at"], name="deleted_profiles"
            ),
        ),
    ]
