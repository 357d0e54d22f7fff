#!/bin/sh
# record.sh BERTH_BINARY OUTDIR [RULE…]: runs the workloads, records each as OUTDIR/RULE--run-VARIANT.jsonl
set -eu
exec python3 "$(dirname "$0")/record.py" "$@"
