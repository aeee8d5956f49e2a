"""A row that shows whether the database takes what is written."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0001_events_of_all_jobs"),
    ]

    operations = [
        migrations.CreateModel(
            name="HealthMark",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("written_at", models.DateTimeField()),
            ],
        ),
    ]
