"""Comparisons keep which policy their methods begin from."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("comparisons", "0002_settings"),
        ("policies", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="comparison",
            name="policy",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="comparisons",
                to="policies.policy",
            ),
        ),
        migrations.AddField(
            model_name="comparison",
            name="policy_digest",
            field=models.CharField(blank=True, default="", max_length=64),
        ),
        migrations.AddField(
            model_name="comparison",
            name="policy_name",
            field=models.CharField(blank=True, default="", max_length=200),
        ),
    ]
