#!/usr/bin/env bash
# Regenerate the figures of the RL framework comparison and judge its claims; --help lists the options.
# What is compared lies in environments of its own, which scripts/install_experiments makes; a framework that is not
# there is left out.
set -euo pipefail
checkout="$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")"
make --silent -C "$checkout" build
PYTHONPATH="$checkout" exec "$checkout/.venv/bin/python" -m experiments.RL_framework_comparison.run "$@"
