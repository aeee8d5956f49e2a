"""Files made of a run for other programs: tables, a trace, a graph."""
