"""A run keeps the constraints of its request."""

from django.db import migrations

import webapp.json_field


class Migration(migrations.Migration):
    dependencies = [("runs", "0003_stream")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="constraints",
            field=webapp.json_field.JsonTextField(null=True),
        ),
    ]
