"""Jobs count their changes."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("graphs", "0002_options")]

    operations = [
        migrations.AddField(
            model_name="graph",
            name="revision",
            field=models.BigIntegerField(default=0, editable=False),
        ),
    ]
