"""The usual designs, written by us to be fast: what the engine has to beat.

All of them do what the engine does for every command: one audit row, one idempotency row and a durable commit
before the answer. None of them keeps a hash chain, and they write fewer messages to be sent than the engine
or none, so the comparison leans their way.
"""
