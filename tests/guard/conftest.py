"""The fixtures of driver_programs.py."""

from driver_programs import card, lingering_shim, program, shim  # noqa: F401
