"""Jobs count their changes."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("profiles", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="profile",
            name="revision",
            field=models.BigIntegerField(default=0, editable=False),
        ),
    ]
