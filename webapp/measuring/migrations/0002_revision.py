"""Jobs count their changes."""

from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [("profiles", "0002_revision")]

    dependencies = [("measuring", "0001_profiles")]

    operations = [
        migrations.AddField(
            model_name="profile",
            name="revision",
            field=models.BigIntegerField(default=0, editable=False),
        ),
    ]
