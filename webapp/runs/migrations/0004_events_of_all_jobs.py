"""Events and checkpoints are in the tables of all jobs."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("runs", "0003_policy"), ("jobs", "0001_events_of_all_jobs")]

    operations = [
        migrations.DeleteModel(name="Event"),
        migrations.DeleteModel(name="Checkpoint"),
    ]
