#!/usr/bin/env bash
# Regenerate the figures of the data-collection study and judge its claims; --help lists the options.
# What is compared lies in an environment of its own, which scripts/install_experiments makes; what is not there is left
# out. Figures of machines with a GPU are made of their kept results as well (experiments/data_collection/measured).
set -euo pipefail
checkout="$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")"
make --silent -C "$checkout" build simulators
PYTHONPATH="$checkout" exec "$checkout/.venv/bin/python" -m experiments.data_collection.run "$@"
