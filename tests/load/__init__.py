"""Commands that fill a database, put load on the application, and print tables of what they measured."""
