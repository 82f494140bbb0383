"""The net: the tree as it was before it was rebuilt, and the tree as it is, made to do the same things.

`reference` brings the old tree out of git. `drawing` makes histories by seed, as plain JSON. The drivers,
`drive_reference` and `drive_fairhold`, carry them out; `mapping` says which names have changed since.
`playing` does it one by one, in batches, and with a foreign write between. `python -m net` compares both
trees by seed; `tests/net` compares the tree with the recorded histories, always.
"""
