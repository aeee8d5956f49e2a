"""A page of the list is found without looking at all rows, some of which are large."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("policies", "0003_kept_states")]

    operations = [
        migrations.AddIndex(
            model_name="policy",
            index=models.Index(fields=["-created_at"], name="newest_policies_first"),
        ),
    ]
