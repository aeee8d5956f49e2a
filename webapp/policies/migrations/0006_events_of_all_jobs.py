"""Events and states are in the tables of all jobs."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("policies", "0005_file_version"), ("jobs", "0001_events_of_all_jobs")]

    operations = [
        migrations.DeleteModel(name="PolicyEvent"),
        migrations.DeleteModel(name="TrainingState"),
    ]
