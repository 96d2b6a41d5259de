#!/usr/bin/env bash
# Runs kernels of known length on this machine's GPU, and judges what is reported of it beside what it did.
#
#   scripts/gpu_utilization.sh OUTPUT
#
# The study is in output/gpu_utilization_gpu, where a second call goes on with runs that the first has not completed.
# Needs what scripts/gpu_suite.sh needs, and a device whose counters may be read (`rlscope doctor`). What it leaves in
# OUTPUT: figures, claims and kept/, which goes to tests/gpu/results/gpu_utilization/NAME to be drawn and judged on
# machines without a GPU.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
output="$(realpath -m "${1:?usage: scripts/gpu_utilization.sh OUTPUT}")"
mkdir -p "$output"
python="${PYTHON:-python3}"
study=output/gpu_utilization_gpu

scripts/build_for_gpu "$output/build.log"

status=0
"$python" -m experiments.gpu_utilization.run --budget "${BUDGET:-quick}" --output "$study" || status=1
mkdir -p "$output/kept"
cp "$study"/measurements/* "$output/kept" || status=1
cp "$study"/*.{html,png,svg,csv,md,json} "$output" || status=1
tar -C "$study" -czf "$output/logs.tar.gz" --exclude=trace runs || status=1
exit $status
