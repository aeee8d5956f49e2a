"""Who visits: users, their tokens for the API, what each may use, and the log of who did what."""
