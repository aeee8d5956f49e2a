"""A run keeps the stream of micro-batches whose throughput it makes great."""

from django.db import migrations

import webapp.json_field


class Migration(migrations.Migration):
    dependencies = [("runs", "0002_prefer_and_verdict")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="stream",
            field=webapp.json_field.JsonTextField(null=True),
        ),
    ]
