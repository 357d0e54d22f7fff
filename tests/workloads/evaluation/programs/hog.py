#!/usr/bin/env python3
"""Jobs of others that take the CPUs, and nothing else."""

import os
import sys

import common

common.begin(60)
for _ in range(int(sys.argv[1]) - 1):
    if os.fork() == 0:
        common.with_parent()
        break
while True:
    common.burn(1)
