"""When the last backup was made, and when one failed."""

from django.db import migrations, models


class Migration(migrations.Migration):
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
