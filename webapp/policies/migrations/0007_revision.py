"""Jobs count their changes."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("policies", "0006_events_of_all_jobs")]

    operations = [
        migrations.AddField(
            model_name="policy",
            name="revision",
            field=models.BigIntegerField(default=0, editable=False),
        ),
    ]
