#!/usr/bin/env bash
# Regenerate the figures of the scale-up study and judge its claims; --help lists the options.
# The workload runs in an environment of its own, which scripts/install_experiments makes. Figures of machines with a GPU
# are made of their kept results as well (experiments/scale_up/measured).
set -euo pipefail
checkout="$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")"
make --silent -C "$checkout" build
PYTHONPATH="$checkout" exec "$checkout/.venv/bin/python" -m experiments.scale_up.run "$@"
