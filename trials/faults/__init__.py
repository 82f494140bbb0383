"""Plant small faults into the source, one after the other, and note which of them the tests notice.

`python -m trials.faults --room rules --count 100 --seed 1 --out FILE`. A fault that no test notices shows a
rule that no test holds. Nothing of Fairhold is imported: its source is read as text.
"""
