"""Who may do what: the permission matrix, lists, streams, attacks, limits."""
