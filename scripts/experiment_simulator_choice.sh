#!/usr/bin/env bash
# Regenerate the figures of the simulator-choice study and judge its claims; --help lists the options.
# The simulators lie in an environment of their own, which scripts/install_experiments makes; one that is not there is
# left out.
set -euo pipefail
checkout="$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")"
make --silent -C "$checkout" build simulators
PYTHONPATH="$checkout" exec "$checkout/.venv/bin/python" -m experiments.simulator_choice.run "$@"
