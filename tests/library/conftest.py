"""The fixtures of the library's tests. They are in hosts.py, under a name of its own: e2e's module is called conftest,
too."""

from hosts import host, installed, library, server, trusted  # noqa: F401
