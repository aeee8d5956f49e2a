"""A run keeps which placement it prefers, and its verdict."""

from django.db import migrations, models

import webapp.json_field


class Migration(migrations.Migration):
    replaces = [("runs", "0015_prefer"), ("runs", "0016_verdict")]

    dependencies = [("runs", "0001_tables_of_0_2_0")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="prefer",
            field=models.CharField(default="fastest", max_length=40),
        ),
        migrations.AddField(
            model_name="run",
            name="verdict",
            field=webapp.json_field.JsonTextField(editable=False, null=True),
        ),
    ]
