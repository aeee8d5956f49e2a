"""Gives SQLite's free pages, which deleted rows leave, back to the disk in small steps.

A database file of version 0.1.0 cannot do so until `manage.py vacuum` has rewritten it. PostgreSQL's autovacuum needs
no help: it makes the space free for later rows.
"""

from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

INCREMENTAL = 2
PAGES_A_STEP = 500
KEPT_PAGES = 2000
"""free pages that stay for the next rows: 8 MB"""


def give_back_free_pages() -> bool:
    """Give back some pages in one transaction; False if no more than the kept ones are left."""
    if connection.vendor != "sqlite":
        return False
    surplus = _value("freelist_count") - KEPT_PAGES
    if surplus <= 0 or _value("auto_vacuum") != INCREMENTAL:
        return False
    with transaction.atomic(), connection.cursor() as cursor:
        for _ in range(min(surplus, PAGES_A_STEP)):
            cursor.execute("PRAGMA incremental_vacuum(1)")  # Python's driver ends the statement after its first page
    return True


def prepare_new_database(new: BaseDatabaseWrapper) -> None:
    """Have SQLite keep track of free pages from the first table on; another database stays as it is.

    Asking for the mode on each connection would take the lock for writers each time.
    """
    if new.vendor == "sqlite" and not new.introspection.table_names():
        rewrite(new)


def rewrite(database: BaseDatabaseWrapper) -> None:
    """Write SQLite's file anew, without free pages, in the mode that gives later ones back."""
    with database.cursor() as cursor:
        cursor.execute(f"PRAGMA auto_vacuum={INCREMENTAL}")
        cursor.execute("VACUUM")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _value(pragma: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA {pragma}")
        return int(cursor.fetchone()[0])
