"""Comparisons keep the presets of their methods."""

from django.db import migrations

import webapp.json_field


class Migration(migrations.Migration):
    dependencies = [("comparisons", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="comparison",
            name="settings",
            field=webapp.json_field.JsonTextField(default=dict),
        ),
    ]
