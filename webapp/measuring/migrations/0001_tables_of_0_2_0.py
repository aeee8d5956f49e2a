"""The tables of version 0.2.0."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

import webapp.json_field


class Migration(migrations.Migration):
    replaces = [
        ("profiles", "0001_initial"),
        ("profiles", "0002_revision"),
        ("profiles", "0003_fruitless_attempts"),
        ("profiles", "0004_deleted_rows"),
        ("calibrations", "0001_initial"),
        ("measurements", "0001_initial"),
    ]

    initial = True

    dependencies = [
        ("graphs", "0001_tables_of_0_2_0"),
        ("runs", "0001_tables_of_0_2_0"),
    ]

    operations = [
        migrations.CreateModel(
            name="Profile",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("status", models.CharField(default="queued", max_length=16)),
                ("claim", models.UUIDField(editable=False, null=True)),
                ("worker", models.CharField(default="", editable=False, max_length=36)),
                ("heartbeat_at", models.DateTimeField(editable=False, null=True)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("cancel_requested", models.BooleanField(default=False)),
                ("error", models.TextField(blank=True, default="")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("stage", models.CharField(blank=True, default="", max_length=200)),
                ("stage_done", models.BigIntegerField(default=0)),
                ("stage_total", models.BigIntegerField(default=0)),
                ("result", webapp.json_field.JsonTextField(null=True)),
                (
                    "graph",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="profiles", to="graphs.graph"
                    ),
                ),
                ("revision", models.BigIntegerField(default=0, editable=False)),
                ("fruitless_attempts", models.PositiveSmallIntegerField(default=0, editable=False)),
                ("deleted_at", models.DateTimeField(editable=False, null=True)),
            ],
            options={
                "db_table": "profiles_profile",
                "ordering": ("-created_at",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("deleted_at", None)),
                        fields=["graph", "-created_at"],
                        name="newest_profiles_of_graph",
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at", None)),
                        fields=["status", "-created_at"],
                        name="newest_profiles_by_status",
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at", None)),
                        fields=["status", "heartbeat_at"],
                        name="profile_heartbeats",
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at__isnull", False)),
                        fields=["deleted_at"],
                        name="deleted_profiles",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Calibration",
            fields=[
                ("deleted_at", models.DateTimeField(editable=False, null=True)),
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("status", models.CharField(default="queued", max_length=16)),
                ("claim", models.UUIDField(editable=False, null=True)),
                ("worker", models.CharField(default="", editable=False, max_length=36)),
                ("heartbeat_at", models.DateTimeField(editable=False, null=True)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("fruitless_attempts", models.PositiveSmallIntegerField(default=0, editable=False)),
                ("cancel_requested", models.BooleanField(default=False)),
                ("error", models.TextField(blank=True, default="")),
                ("revision", models.BigIntegerField(default=0, editable=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("stage", models.CharField(blank=True, default="", max_length=200)),
                ("stage_done", models.BigIntegerField(default=0)),
                ("stage_total", models.BigIntegerField(default=0)),
                ("result", webapp.json_field.JsonTextField(null=True)),
            ],
            options={
                "db_table": "calibrations_calibration",
                "ordering": ("-created_at",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("deleted_at", None)), fields=["-created_at"], name="newest_calibrations"
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at", None)),
                        fields=["status", "-created_at"],
                        name="newest_calibrations_by_status",
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at", None)),
                        fields=["status", "heartbeat_at"],
                        name="calibration_heartbeats",
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at__isnull", False)),
                        fields=["deleted_at"],
                        name="deleted_calibrations",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="StepMeasurement",
            fields=[
                ("deleted_at", models.DateTimeField(editable=False, null=True)),
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("status", models.CharField(default="queued", max_length=16)),
                ("claim", models.UUIDField(editable=False, null=True)),
                ("worker", models.CharField(default="", editable=False, max_length=36)),
                ("heartbeat_at", models.DateTimeField(editable=False, null=True)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("fruitless_attempts", models.PositiveSmallIntegerField(default=0, editable=False)),
                ("cancel_requested", models.BooleanField(default=False)),
                ("error", models.TextField(blank=True, default="")),
                ("revision", models.BigIntegerField(default=0, editable=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("stage", models.CharField(blank=True, default="", max_length=200)),
                ("stage_done", models.BigIntegerField(default=0)),
                ("stage_total", models.BigIntegerField(default=0)),
                ("result", webapp.json_field.JsonTextField(null=True)),
                ("cluster", webapp.json_field.JsonTextField()),
                ("rounds", models.PositiveSmallIntegerField()),
                ("steps", models.PositiveSmallIntegerField()),
                (
                    "graph",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="measurements", to="graphs.graph"
                    ),
                ),
            ],
            options={
                "db_table": "measurements_stepmeasurement",
                "verbose_name": "measurement",
                "ordering": ("-created_at",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("deleted_at", None)),
                        fields=["graph", "-created_at"],
                        name="newest_measurements_of_graph",
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at", None)),
                        fields=["status", "-created_at"],
                        name="newest_measurements_by_status",
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at", None)),
                        fields=["status", "heartbeat_at"],
                        name="measurement_heartbeats",
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at__isnull", False)),
                        fields=["deleted_at"],
                        name="deleted_measurements",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="MeasuredPlacement",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.PositiveSmallIntegerField()),
                ("words", models.CharField(max_length=300)),
                ("device_of_group", webapp.json_field.JsonTextField()),
                ("parts", webapp.json_field.JsonTextField(default=list)),
                (
                    "run",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="measured", to="runs.run"
                    ),
                ),
                (
                    "measurement",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="placements",
                        to="measuring.stepmeasurement",
                    ),
                ),
            ],
            options={
                "db_table": "measurements_measuredplacement",
                "ordering": ("position",),
                "constraints": [
                    models.UniqueConstraint(fields=("measurement", "position"), name="place_in_measurement")
                ],
            },
        ),
    ]
