"""The operations of the API, a module for each kind of row, with the schemas of what they take and answer."""
