"""The summary of a run's events is called its content."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("runs", "0005_revision")]

    operations = [migrations.RenameField("runsummary", "heard", "content")]
