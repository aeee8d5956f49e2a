"""The tables of version 0.2.0."""

from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [("backups", "0001_backup_record")]

    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="BackupRecord",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("succeeded_at", models.DateTimeField(null=True)),
                ("archive_bytes", models.BigIntegerField(default=0)),
                ("failed_at", models.DateTimeField(null=True)),
                ("fault", models.TextField(blank=True, default="")),
            ],
        ),
    ]
