#!/usr/bin/env bash
# Regenerate the figures of the study of language models and judge its claims; --help lists the options.
# The workloads run in an environment of its own, which scripts/install_experiments makes.
set -euo pipefail
checkout="$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")"
make --silent -C "$checkout" build
PYTHONPATH="$checkout" exec "$checkout/.venv/bin/python" -m experiments.llm_rl.run "$@"
