#!/usr/bin/env bash
# Runs 16 processes of self-play on this machine's GPU, with inference in each and in one server, and judges the claims.
#
#   scripts/gpu_scale_up.sh OUTPUT
#
# The study is in output/scale_up_gpu, where a second call goes on with runs that the first has not completed.
# Needs what scripts/gpu_suite.sh needs, OpenSpiel, and 16 cores. What it leaves in OUTPUT: figures, claims and kept/, which
# goes to tests/gpu/results/scale_up/NAME to be drawn and judged on machines without a GPU.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
output="$(realpath -m "${1:?usage: scripts/gpu_scale_up.sh OUTPUT}")"
mkdir -p "$output"
python="${PYTHON:-python3}"
study=output/scale_up_gpu

scripts/build_for_gpu "$output/build.log"

status=0
"$python" -m experiments.scale_up.run --budget "${BUDGET:-quick}" --output "$study" || status=1
mkdir -p "$output/kept"
cp "$study"/measurements/* "$output/kept" || status=1
cp "$study"/*.{html,png,svg,csv,md,json} "$output" || status=1
tar -C "$study" -czf "$output/logs.tar.gz" --exclude=trace runs || status=1
exit $status
