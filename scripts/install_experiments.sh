#!/usr/bin/env bash
# Make the environments that the framework comparison runs in: .venvs/pytorch (PyTorch, JAX and Ray) and .venvs/tensorflow,
# from the locks in experiments/requirements/. Takes about three minutes and 5 GB; started again, it goes on where it was.
#
#   scripts/install_experiments.sh [TORCH_INDEX=ADDRESS] [PYTHON=python3.11]      as for `make setup`
set -euo pipefail
checkout="$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")"
make --silent -C "$checkout" install-experiments "$@"
du -sh "$checkout"/.venvs/*
