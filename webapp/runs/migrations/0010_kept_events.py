"""Runs that ended long ago may keep a part of their events."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0009_deleted_rows")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="kept_events",
            field=models.BigIntegerField(editable=False, null=True),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("deleted_at", None), ("kept_events", None)),
                fields=["finished_at"],
                name="runs_to_thin",
            ),
        ),
    ]
