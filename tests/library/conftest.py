"""The fixtures of the library's tests, which hosts.py has: a module of its own name, as e2e's is called conftest, too."""

from hosts import host, installed, library, server, trusted  # noqa: F401
