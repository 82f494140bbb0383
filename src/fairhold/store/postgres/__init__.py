"""When there is more than one process or machine."""
