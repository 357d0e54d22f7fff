"""The fixtures of driver_programs.py."""

from driver_programs import card, program, shim  # noqa: F401
