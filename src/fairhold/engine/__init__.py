"""The one writing transaction: jobs gather, are decided together, and are written as one batch.

Others use `engine.engine.Engine` and `engine.jobs.Job`. This room may import the rules and the store.
docs/concepts/engine.md has the picture.
"""
