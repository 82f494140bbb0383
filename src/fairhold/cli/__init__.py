"""The command line: one file per noun, over the same library that programs use."""
