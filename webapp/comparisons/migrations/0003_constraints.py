"""A comparison keeps the constraints of its request."""

from django.db import migrations

import webapp.json_field


class Migration(migrations.Migration):
    dependencies = [("comparisons", "0002_stream")]

    operations = [
        migrations.AddField(
            model_name="comparison",
            name="constraints",
            field=webapp.json_field.JsonTextField(null=True),
        ),
    ]
