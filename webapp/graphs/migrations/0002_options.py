"""Graphs keep the options they were read with, and a second file of measured times."""

import django.db.models.deletion
from django.db import migrations, models

import webapp.json_field


class Migration(migrations.Migration):
    dependencies = [("graphs", "0001_initial")]

    operations = [
        migrations.AddField("graph", "options", webapp.json_field.JsonTextField(default=dict)),
        migrations.AddField("graph", "times_name", models.CharField(blank=True, default="", max_length=200)),
        migrations.AddField("graph", "times_bytes", models.BigIntegerField(default=0)),
        migrations.AddField(
            "graph",
            "read_again_from",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="read_again",
                to="graphs.graph",
            ),
        ),
    ]
