"""Deleted rows are marked and purged later; lists and reapers find their rows by an index."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("policies", "0008_fruitless_attempts"),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name="policy",
            name="newest_policies_first",
        ),
        migrations.AddField(
            model_name="policy",
            name="deleted_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AlterField(
            model_name="policy",
            name="status",
            field=models.CharField(default="queued", max_length=16),
        ),
        migrations.AddIndex(
            model_name="policy",
            index=models.Index(
                condition=models.Q(("deleted_at", None)), fields=["-created_at"], name="newest_policies"
            ),
        ),
        migrations.AddIndex(
            model_name="policy",
            index=models.Index(
                condition=models.Q(("deleted_at", None)),
                fields=["status", "-created_at"],
                name="newest_policies_by_status",
            ),
        ),
        migrations.AddIndex(
            model_name="policy",
            index=models.Index(
                condition=models.Q(("deleted_at", None)), fields=["status", "heartbeat_at"], name="policy_heartbeats"
            ),
        ),
        migrations.AddIndex(
            model_name="policy",
            index=models.Index(
                condition=models.Q(("deleted_at__isnull", False)), fields=["deleted_at"], name="deleted_policies"
            ),
        ),
    ]
