"""Runs keep whether they ignore the devices that the graph's file fixes."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0001_initial")]

    operations = [migrations.AddField("run", "drop_devices", models.BooleanField(default=False))]
