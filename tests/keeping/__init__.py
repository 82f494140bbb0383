"""Tests of keeping a database in order."""
