"""One table of events and one of states for jobs of every kind: what runs and trainings had of their own moves here."""

from typing import Any

from django.db import migrations, models

ROWS_AT_ONCE = 10_000
"""events copied by one statement, inside the database: a run may have a hundred thousand"""
TAKE_OVER = (
    (
        "runs_event",
        "INSERT INTO jobs_event (job_id, seq, type, data)"
        " SELECT run_id, seq, type, data FROM runs_event WHERE id >= %s AND id < %s ORDER BY id",
    ),
    (
        "policies_policyevent",
        "INSERT INTO jobs_event (job_id, seq, type, data)"
        " SELECT policy_id, seq, 'progress', data FROM policies_policyevent WHERE id >= %s AND id < %s ORDER BY id",
    ),
)
"""table to copy from, statement with the first id and the one after the last"""
TAKE_OVER_STATES = (
    "INSERT INTO jobs_savedstate (job_id, seq, identity, state) SELECT run_id, seq, '', state FROM runs_checkpoint",
    "INSERT INTO jobs_savedstate (job_id, seq, identity, state)"
    " SELECT policy_id, 0, identity, state FROM policies_trainingstate",
)
GIVE_BACK = (
    (
        "jobs_event",
        "INSERT INTO runs_event (run_id, seq, type, data) SELECT job_id, seq, type, data FROM jobs_event"
        " WHERE id >= %s AND id < %s AND job_id IN (SELECT id FROM runs_run) ORDER BY id",
    ),
    (
        "jobs_event",
        "INSERT INTO policies_policyevent (policy_id, seq, data) SELECT job_id, seq, data FROM jobs_event"
        " WHERE id >= %s AND id < %s AND job_id IN (SELECT id FROM policies_policy) ORDER BY id",
    ),
)
GIVE_BACK_STATES = (
    "INSERT INTO runs_checkpoint (run_id, seq, state) SELECT job_id, seq, state FROM jobs_savedstate"
    " WHERE job_id IN (SELECT id FROM runs_run)",
    "INSERT INTO policies_trainingstate (policy_id, identity, state) SELECT job_id, identity, state"
    " FROM jobs_savedstate WHERE job_id IN (SELECT id FROM policies_policy)",
)
RANGES = {
    "runs_event": "SELECT MIN(id), MAX(id) FROM runs_event",
    "policies_policyevent": "SELECT MIN(id), MAX(id) FROM policies_policyevent",
    "jobs_event": "SELECT MIN(id), MAX(id) FROM jobs_event",
}


def take_over(_apps: object, schema_editor: Any) -> None:
    """Copy the rows of both kinds."""
    _copy(schema_editor, TAKE_OVER, TAKE_OVER_STATES)


def give_back(_apps: object, schema_editor: Any) -> None:
    """The inverse."""
    _copy(schema_editor, GIVE_BACK, GIVE_BACK_STATES)


def _copy(schema_editor: Any, events: tuple[tuple[str, str], ...], states: tuple[str, ...]) -> None:
    with schema_editor.connection.cursor() as cursor:
        for source, statement in events:
            cursor.execute(RANGES[source])
            least, greatest = cursor.fetchone()
            if least is not None:
                for first in range(least, greatest + 1, ROWS_AT_ONCE):
                    cursor.execute(statement, [first, first + ROWS_AT_ONCE])
        for statement in states:
            cursor.execute(statement)


class Migration(migrations.Migration):
    initial = True

    dependencies = [("runs", "0003_policy"), ("policies", "0005_file_version")]

    operations = [
        migrations.CreateModel(
            name="Event",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("job_id", models.UUIDField()),
                ("seq", models.BigIntegerField()),
                ("type", models.CharField(max_length=16)),
                ("data", models.TextField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("job_id", "seq"), name="event_once_a_job")],
            },
        ),
        migrations.CreateModel(
            name="SavedState",
            fields=[
                ("job_id", models.UUIDField(primary_key=True, serialize=False)),
                ("seq", models.BigIntegerField(default=0)),
                ("identity", models.CharField(blank=True, default="", max_length=64)),
                ("state", models.BinaryField()),
            ],
        ),
        migrations.RunPython(take_over, give_back),
    ]
