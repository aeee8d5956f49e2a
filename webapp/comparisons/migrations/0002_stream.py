"""A comparison keeps the stream of micro-batches whose throughput its methods make great."""

from django.db import migrations

import webapp.json_field


class Migration(migrations.Migration):
    dependencies = [("comparisons", "0001_tables_of_0_2_0")]

    operations = [
        migrations.AddField(
            model_name="comparison",
            name="stream",
            field=webapp.json_field.JsonTextField(null=True),
        ),
    ]
