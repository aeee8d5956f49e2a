"""The life of a job, whatever it does: a row in the database that workers claim.

- `intake.py`: a message of the broker says that a queue has work; `turns.py` says whose job is next.
- `claim.py`: queued → running, by compare-and-set, with a token that every later write needs.
- `heartbeat.py`: a sign of life from a thread, which also looks whether to stop; `yielding.py`: a long job gives way.
- `event_store.py`: the events that a job emits, and its saved state, in one transaction.
- `cancelling.py`: a user stops it. A cancelled job is over; "go on from here" starts another.
- `worker_hooks.py`, `bounded_stop.py`: its worker is stopped, and queues it again.
- `reaper.py`: its worker has died; it is queued again, or has failed after too many attempts.
"""
