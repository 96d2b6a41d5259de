#!/usr/bin/env bash
# Regenerate the figures of the study of GPU utilisation and judge its claims; --help lists the options.
# Without a GPU nothing is run; figures of machines with one are made of their kept results
# (experiments/gpu_utilization/measured).
set -euo pipefail
checkout="$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")"
make --silent -C "$checkout" build
PYTHONPATH="$checkout" exec "$checkout/.venv/bin/python" -m experiments.gpu_utilization.run "$@"
