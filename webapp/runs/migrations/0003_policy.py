"""Runs keep which policy they begin from."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("policies", "0001_initial"),
        ("runs", "0002_drop_devices"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="policy",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="runs", to="policies.policy"
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="policy_digest",
            field=models.CharField(blank=True, default="", max_length=64),
        ),
        migrations.AddField(
            model_name="run",
            name="policy_name",
            field=models.CharField(blank=True, default="", max_length=200),
        ),
    ]
