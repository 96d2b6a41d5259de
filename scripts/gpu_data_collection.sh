#!/usr/bin/env bash
# Tests the ways to collect data on CartPole on this machine's GPU, measures them, and trains on the fastest.
#
#   scripts/gpu_data_collection.sh OUTPUT [tests|train|measure ...]      (all of them unless some are named)
#
# `measure` takes up to 9 minutes, the others 3: name them in calls of their own where a call may take 10. The study is in
# output/data_collection_gpu, where a second call goes on with runs that the first has not completed.
# Needs what scripts/gpu_suite.sh needs, and JAX for CUDA, CuPy, Gymnasium; gymnax, Brax and MJX for figures of
# simulators. What it leaves in OUTPUT: tests.xml, training.json; figures, claims and kept/, which goes to
# tests/gpu/results/data_collection/NAME to be drawn and judged on machines without a GPU.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
output="$(realpath -m "${1:?usage: scripts/gpu_data_collection.sh OUTPUT [tests|train|measure ...]}")"
shift
mkdir -p "$output"
python="${PYTHON:-python3}"
study=output/data_collection_gpu

scripts/build_for_gpu "$output/build.log"
make --silent simulators PYTHON="$python"

status=0
for part in ${@:-tests train measure}; do
    case "$part" in
    tests)
        "$python" -m pytest tests/gpu/test_cartpole_cuda.py tests/frameworks/test_cartpole.py -q -p no:cacheprovider \
            --junitxml="$output/tests.xml" || status=1
        ;;
    train)
        "$python" experiments/workloads/cartpole_ppo.py --device cuda | tee "$output/training.json" || status=1
        ;;
    measure)
        "$python" -m experiments.data_collection.run --budget "${BUDGET:-quick}" --output "$study" || status=1
        mkdir -p "$output/kept"
        cp "$study"/measurements/* "$output/kept" || status=1
        cp "$study"/*.{html,png,svg,csv,md,json} "$output" || status=1
        tar -C "$study" -czf "$output/logs.tar.gz" --exclude=trace --exclude=rows runs || status=1
        ;;
    *)
        echo "scripts/gpu_data_collection.sh: expected tests, train or measure, found $part" >&2
        exit 2
        ;;
    esac
done
exit $status
