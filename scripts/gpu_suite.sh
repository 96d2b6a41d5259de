#!/usr/bin/env bash
# Builds rlscope in the checkout, and tests and measures it on this machine's GPU: all that is kept of a GPU, in parts.
#
#   scripts/gpu_suite.sh OUTPUT [PART ...]      (all of them, in about an hour, unless some are named)
#
# calibrate                        what recording costs here, into the user's cache: parts after it are corrected by it
# tests                            tests/gpu; needs nvcc and ncu
# measure, slowdown, residue       what recording costs
# launches                         what recording adds to a launch and to the slowest of many, beside CUPTI's options
# sampled                          what it costs that one iteration of fifty is recorded
# behind_window                    what it costs behind a window of a job that goes on
# counters                         counters of known kernels beside ncu's; needs ncu
# grpo                             the stages of a GRPO loop; needs transformers
# syncs                            waits for the device in known lines of a loop, counted and found; in a minute
# language_model                   what recording TRL's GRPO costs; needs TRL
# frameworks                       TD3 in four stacks, three times, corrected; needs SBX
# processes                        what is reported of several processes at once
# ranks                            DDP and FSDP2 on two GPUs: who was late, what is matched, what it costs; needs two
# colocated                        a rollout process and a trainer on one GPU: who had it, and why it did nothing
# cartpole                         tests of the ways to collect data on CartPole, and PPO on the fused kernel
# robots                           tests of the robots' kernels, and the robots' throughput: rows, as data_collection has
# robots_ppo                       tests of the kernels in which a policy acts, PPO on them, and their throughput
# robots_xla                       the half-cheetah on XLA by the same equations, by MJX, MuJoCo Warp and Brax
# ant_xla                          the ant on XLA, likewise
# robot_limits                     counters of the robots' kernels and of CartPole's, recorded by rlscope, five times
# data_collection, scale_up, gpu_utilization, llm_rl, algorithm_choice, simulator_choice, RL_framework_comparison,
# overhead_correction              the studies; scale_up and gpu_utilization three times, llm_rl five times, for intervals
# whole_runs                       the published calibration, with which overhead_correction would else begin
#
# A part takes at most 9 minutes, RL_framework_comparison and llm_rl two calls of that; the first one takes a minute more,
# to build. llm_rl can go on where another machine of the same kind has ended: REPETITIONS=2 there and, with EARLIER=DIR, a
# copy of what it has left in kept/, all five here.
# What a part leaves is in OUTPUT/PART. A study's runs are in output/STUDY_gpu, where a second call goes on with those that
# the first has not completed; its verdicts (claims.json, claims.md) and what is in the folder kept/, where there is one,
# go to experiments/STUDY/measured/NAME; that of frameworks is the RL_framework_comparison's. Needs Python with PyTorch for
# CUDA, pytest, scipy and rlscope's own requirements, CMake, Ninja, a C++ compiler; for the studies Stable-Baselines3,
# OpenSpiel, JAX for CUDA, CuPy, gymnax, Brax, MJX, Warp, TRL: what is missing is left out, and said. Runs of studies do not get
# PYTHONPATH, so packages have to be where Python itself looks.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
output="$(realpath -m "${1:?usage: scripts/gpu_suite.sh OUTPUT [PART ...]}")"
shift
mkdir -p "$output"
python="${PYTHON:-python3}"
status=0

# Results beside where they come from: measured MODULE [ARGUMENT ...]
measured() {
    "$python" -m tests.gpu.origin "scripts/gpu_suite.sh OUTPUT $part" >"$output/$part/machine.json"
    OMP_NUM_THREADS=1 "$python" -m "tests.gpu.$1" "${@:2}" | tee "$output/$part/log.txt" || status=1
    rm -rf "$output/$part/traces"
}

# What recording costs: costs MODULE [MEASUREMENT ...]
costs() {
    measured "$1" "$output/$part/traces" "${@:2}"
    grep '^{"metric"' "$output/$part/log.txt" >"$output/$part/measurements.jsonl" || status=1
}

# A study's page, figures, verdicts, logs, and what it has measured, if that is kept: study [OPTION ...]
study() {
    local folder="output/${part}_gpu"
    "$python" -m "experiments.$part.run" --budget "${BUDGET:-quick}" --output "$folder" "$@" || status=1
    cp "$folder"/*.{html,png,svg,csv,md,json} "$output/$part" || status=1
    [[ ! -d "$folder/measurements" ]] || cp -rT "$folder/measurements" "$output/$part/kept"
    tar -C "$folder" -czf "$output/$part/logs.tar.gz" --exclude=trace --exclude=rows runs || status=1
}

# Throughputs of a robot: robot IMPLEMENTATION SIMULATOR N,... K,... [OPTION ...]; a line that takes too long is ended,
# and said.
robot() {
    local folder="$output/$part/${1}_${2// /_}"
    XLA_PYTHON_CLIENT_PREALLOCATE=false timeout "${LINE_SECONDS:-130}" "$python" experiments/workloads/collect.py \
        --implementation "$1" --quantity simulate --simulator "$2" --environments ${3//,/ } --steps-per-call ${4//,/ } \
        --device cuda --seconds 0.1 --repetitions 5 --most-seconds 10 "${@:5}" --output "$folder" || {
        echo "$1 $2: ended with status $? (124: after ${LINE_SECONDS:-130} s); its rows so far count" >&2
        status=1
    }
}

scripts/build_for_gpu "$output/build.log"
make --silent simulators PYTHON="$python"

parts="calibrate tests measure slowdown residue sampled behind_window counters grpo syncs language_model frameworks processes ranks colocated cartpole"
parts="$parts launches robots robots_ppo robots_xla ant_xla robot_limits"
parts="$parts data_collection scale_up gpu_utilization llm_rl algorithm_choice simulator_choice RL_framework_comparison whole_runs"
parts="$parts overhead_correction"
for part in ${@:-$parts}; do
    mkdir -p "$output/$part"
    case "$part" in
    tests)
        "$python" -m rlscope.checks.cupti_check || status=1
        OMP_NUM_THREADS=1 "$python" -m pytest tests/gpu -q -p no:cacheprovider \
            --junitxml="$output/$part/tests.xml" || status=1
        ;;
    measure) costs measure busy_time trace_size added_to_a_call ;;
    slowdown | residue) costs measure "$part" ;;
    launches | language_model | sampled | behind_window) costs "$part" ;;
    counters | grpo | syncs | processes | colocated | ranks) measured "$part" "$output/$part" ;;
    cartpole)
        "$python" -m pytest tests/gpu/test_cartpole_cuda.py tests/frameworks/test_cartpole.py -q -p no:cacheprovider \
            --junitxml="$output/$part/tests.xml" || status=1
        "$python" experiments/workloads/cartpole_ppo.py --device cuda | tee "$output/$part/training.json" || status=1
        ;;
    robots)
        "$python" -m pytest tests/gpu/test_robots_cuda.py -q -p no:cacheprovider --junitxml="$output/$part/tests.xml" ||
            status=1
        "$python" -m tests.gpu.origin "scripts/gpu_suite.sh OUTPUT $part" >"$output/$part/machine.json"
        for robot in HalfCheetah Hopper Walker2d; do
            robot CUDA "Planar $robot" 1,64,1024,4096,16384,65536,262144,1048576 1,10,100
        done
        robot CUDA "Spatial Ant" 1,64,1024,4096,16384,65536,262144 1,10,100
        cat "$output/$part"/*/rows.jsonl >"$output/$part/rows.jsonl"
        ;;
    robots_ppo)
        "$python" -m pytest tests/gpu/test_robots_collect.py -q -p no:cacheprovider \
            --junitxml="$output/$part/tests.xml" || status=1
        "$python" -m tests.gpu.origin "scripts/gpu_suite.sh OUTPUT $part" >"$output/$part/machine.json"
        for robot in "Planar HalfCheetah" "Planar Hopper" "Spatial Ant"; do
            "$python" experiments/workloads/robots_ppo.py --robot ${robot#* } --device cuda |
                tee "$output/$part/training_${robot#* }.json" || status=1
            robot CUDA "$robot" 4096,65536,262144 10 --quantity collect --variants accurate "matrix units"
        done
        cat "$output/$part"/*/rows.jsonl >"$output/$part/rows.jsonl"
        ;;
    robots_xla)
        "$python" -m tests.gpu.origin "scripts/gpu_suite.sh OUTPUT $part" >"$output/$part/machine.json"
        robot XLA "Planar HalfCheetah" 4096,65536,262144 10
        robot XLA "MuJoCo HalfCheetah" 4096,65536 10
        robot XLA "MuJoCo-Warp HalfCheetah" 4096,65536,262144 10
        robot XLA "Brax halfcheetah" 4096,65536 10
        cat "$output/$part"/*/rows.jsonl >"$output/$part/rows.jsonl"
        ;;
    ant_xla)
        "$python" -m tests.gpu.origin "scripts/gpu_suite.sh OUTPUT $part" >"$output/$part/machine.json"
        robot XLA "Spatial Ant" 4096,65536 10
        robot XLA "MuJoCo Ant" 4096,65536 10
        robot XLA "MuJoCo-Warp Ant" 4096,65536,262144 10
        robot XLA "Brax ant" 4096,65536 10
        cat "$output/$part"/*/rows.jsonl >"$output/$part/rows.jsonl"
        ;;
    robot_limits)
        "$python" -m tests.gpu.origin "scripts/gpu_suite.sh OUTPUT $part" >"$output/$part/machine.json"
        "$python" -m experiments.data_collection.robots.limits "$output/$part" || status=1
        rm -rf "$output/$part/trace"
        ;;
    scale_up | gpu_utilization) study --repetitions 3 ;;
    llm_rl) study --repetitions "${REPETITIONS:-5}" ${EARLIER:+--earlier "$EARLIER"} ;;
    data_collection | algorithm_choice | simulator_choice | RL_framework_comparison | overhead_correction) study ;;
    calibrate) OMP_NUM_THREADS=1 "$python" -m rlscope calibrate || status=1 ;;
    whole_runs)
        folder=output/overhead_correction_gpu
        mkdir -p "$folder"
        # As published. Runs are as long as there is time for: the study's own would be four times as long.
        OMP_NUM_THREADS=1 "$python" -m rlscope calibrate --whole-runs --repetitions 2 \
            -o "$folder/calibration_by_whole_runs.json" -- "$python" experiments/workloads/stable_baselines3_train.py \
            --device cuda --algo a2c --env Pendulum-v1 --stop-after 5120 || status=1
        ;;
    frameworks)
        "$python" -m tests.gpu.frameworks "$output/frameworks" || status=1
        ;;
    *)
        echo "scripts/gpu_suite.sh: expected a part that its first lines list, found $part" >&2
        exit 2
        ;;
    esac
done
exit $status
