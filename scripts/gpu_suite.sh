#!/usr/bin/env bash
# Builds rlscope in the checkout, tests it on this machine's GPU and measures what recording costs, in about 20 minutes.
#
#   scripts/gpu_suite.sh OUTPUT [tests|measure|train|grpo|frameworks ...]      (all of them unless some are named)
#
# Needs a GPU, Python with PyTorch for CUDA, pytest, scipy and rlscope's own requirements, CMake, Ninja, a C++ compiler
# for one test each nvcc and ncu, for grpo transformers, for frameworks SBX. What it leaves in OUTPUT: machine.json,
# tests.xml, measurements.jsonl, of Stable-Baselines3's trainings figures and claims, grpo/grpo.json, and frameworks/kept,
# which goes to tests/gpu/results/frameworks/NAME to be drawn and judged on machines without a GPU.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
output="$(realpath -m "${1:?usage: scripts/gpu_suite.sh OUTPUT [tests|measure|train|grpo|frameworks ...]}")"
shift
mkdir -p "$output"
export OMP_NUM_THREADS=1
python="${PYTHON:-python3}"

scripts/build_for_gpu "$output/build.log"

"$python" - >"$output/machine.json" <<'PYTHON'
import json, platform
import torch
from experiments.machine import machine
versions = {"python": platform.python_version(), "torch": torch.__version__, "cuda": torch.version.cuda}
print(json.dumps(machine() | versions, indent=2))
PYTHON

status=0
for part in ${@:-tests measure train grpo frameworks}; do
    case "$part" in
    tests)
        "$python" -m rlscope.cli.cupti_check || status=1
        "$python" -m pytest tests/gpu -q -p no:cacheprovider --junitxml="$output/tests.xml" || status=1
        ;;
    measure)
        work="$(mktemp -d)"
        "$python" -m tests.gpu.measure "$work" >"$output/measurements.log" || status=1
        grep '^{"metric"' "$output/measurements.log" | tee "$output/measurements.jsonl"
        rm -rf "$work"
        ;;
    train)
        "$python" -m experiments.algorithm_choice.run --budget "${BUDGET:-quick}" --output "$output/algorithm_choice" || status=1
        ;;
    grpo)
        "$python" -m tests.gpu.grpo "$output/grpo" || status=1
        ;;
    frameworks)
        "$python" -m tests.gpu.frameworks "$output/frameworks" || status=1
        ;;
    *)
        echo "scripts/gpu_suite.sh: expected tests, measure, train, grpo or frameworks, found $part" >&2
        exit 2
        ;;
    esac
done
exit $status
