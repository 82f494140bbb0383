"""The service measured from outside: real processes, real sockets, the load from a process of its own."""
