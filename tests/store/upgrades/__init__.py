"""A database of every version that there was, with people in it.

`sqlite/0004.dump` and `postgres/0004.dump` were filled by the program of version 4 and are never changed;
what was answered then stands in the first line. `python -m tests.store.upgrades.make` writes those of the
present version; do so in the commit that adds a migration. (No program ever had 5 or 6 as its last: those two
were filled by that of 7, without the later migrations.)
"""
