from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0014_kept_policy"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="prefer",
            field=models.CharField(default="fastest", max_length=40),
        ),
    ]
