"""What Fairhold is measured against, and how: `python -m bench` prints the table.

`baselines/` holds the designs people usually write for the same job, each as good as that design can be;
`measure.py` the tools that time them; `workload.py` what the callers ask for, the same of everyone.
"""
