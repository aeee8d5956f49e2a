"""Links expire, know their last use, and may show a graph or a search for plans."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("comparisons", "0003_constraints"),
        ("graphs", "0002_started_by"),
        ("plans", "0002_started_by"),
        ("runs", "0005_started_by"),
        ("sharing", "0001_tables_of_0_2_0"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="sharelink",
            name="link_to_one_thing",
        ),
        migrations.AddField(
            model_name="sharelink",
            name="expires_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="sharelink",
            name="graph",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.CASCADE, related_name="share_links", to="graphs.graph"
            ),
        ),
        migrations.AddField(
            model_name="sharelink",
            name="last_used_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="sharelink",
            name="search",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="share_links",
                to="plans.plansearch",
            ),
        ),
        migrations.AddIndex(
            model_name="sharelink",
            index=models.Index(
                condition=models.Q(("deleted_at", None)), fields=["graph", "-created_at"], name="newest_links_of_graph"
            ),
        ),
        migrations.AddIndex(
            model_name="sharelink",
            index=models.Index(
                condition=models.Q(("deleted_at", None)),
                fields=["search", "-created_at"],
                name="newest_links_of_search",
            ),
        ),
        migrations.AddConstraint(
            model_name="sharelink",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("comparison", None), ("graph", None), ("run__isnull", False), ("search", None)),
                    models.Q(("comparison__isnull", False), ("graph", None), ("run", None), ("search", None)),
                    models.Q(("comparison", None), ("graph__isnull", False), ("run", None), ("search", None)),
                    models.Q(("comparison", None), ("graph", None), ("run", None), ("search__isnull", False)),
                    _connector="OR",
                ),
                name="link_to_one_thing",
            ),
        ),
    ]
