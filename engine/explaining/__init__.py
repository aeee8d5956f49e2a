"""Why a placement takes as long as it does, what fills its memory, and what each move would change."""
