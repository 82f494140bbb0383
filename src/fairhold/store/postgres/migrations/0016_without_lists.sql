-- Nothing here: PostgreSQL looks at a list without making a table of it, as SQLite did.
SELECT 1;
