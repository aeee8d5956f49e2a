"""The machines that workers offer."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("workers", "0001_workers")]

    operations = [
        migrations.CreateModel(
            name="OfferedMachine",
            fields=[
                ("identity", models.CharField(max_length=36, primary_key=True, serialize=False)),
                ("cluster", models.TextField(blank=True)),
                ("fault", models.TextField(blank=True)),
            ],
        ),
    ]
