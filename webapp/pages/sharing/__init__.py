"""Pages behind secret links, and the menu that makes such links."""
