from django.db import migrations

import webapp.json_field


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0015_prefer"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="verdict",
            field=webapp.json_field.JsonTextField(editable=False, null=True),
        ),
    ]
