"""The tables of version 0.2.0."""

from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [("workers", "0001_workers"), ("workers", "0002_machines")]

    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="DatabaseVersion",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("version", models.CharField(max_length=32)),
                ("schema", models.CharField(max_length=8)),
                ("recorded_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Worker",
            fields=[
                ("identity", models.CharField(max_length=36, primary_key=True, serialize=False)),
                ("host", models.CharField(max_length=255)),
                ("pid", models.PositiveIntegerField()),
                ("queues", models.CharField(max_length=255)),
                ("version", models.CharField(max_length=32)),
                ("schema", models.CharField(max_length=8)),
                ("takes_nothing_because", models.CharField(blank=True, default="", max_length=100)),
                ("started_at", models.DateTimeField()),
                ("seen_at", models.DateTimeField()),
            ],
            options={
                "ordering": ("host", "queues", "started_at"),
            },
        ),
        migrations.CreateModel(
            name="OfferedMachine",
            fields=[
                ("identity", models.CharField(max_length=36, primary_key=True, serialize=False)),
                ("cluster", models.TextField(blank=True)),
                ("fault", models.TextField(blank=True)),
            ],
        ),
    ]
