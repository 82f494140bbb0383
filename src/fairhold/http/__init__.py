"""The HTTP service: Starlette and msgspec over the library, one file per noun. See `operations`."""
