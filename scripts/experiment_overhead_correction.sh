#!/usr/bin/env bash
# Regenerate the figure of the overhead-correction study and judge its claims; --help lists the options.
# The simulators lie in an environment of their own, which scripts/install_experiments makes; one that is not there is
# left out. Without a calibration of this machine (rlscope calibrate), one is measured into the output directory.
set -euo pipefail
checkout="$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")"
make --silent -C "$checkout" build
PYTHONPATH="$checkout" exec "$checkout/.venv/bin/python" -m experiments.overhead_correction.run "$@"
