"""What the tests and the bench both stand on: a PostgreSQL to throw away, and the checks of tidiness."""
