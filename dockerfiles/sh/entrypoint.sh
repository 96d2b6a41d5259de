#!/usr/bin/env bash
# Start a container: name the caller, take over what changed in the checkout, check the GPU, then run the command.
# What is printed here goes to stderr: stdout is the command's.
set -euo pipefail

# Add lines for the caller's uid and gid, which no image can know. A name that is taken or that not every program reads
# becomes "rlscope".
name_caller() {
    local name="${RLSCOPE_USER:-rlscope}"
    local LC_ALL=C
    if ! [[ "$name" =~ ^[A-Za-z_][A-Za-z0-9_.-]{0,31}$ ]] || getent passwd "$name" >/dev/null; then name=rlscope; fi
    getent group "$(id -g)" >/dev/null || echo "$name:x:$(id -g):" >>/etc/group
    getent passwd "$(id -u)" >/dev/null || echo "$name:x:$(id -u):$(id -g)::$HOME:/bin/bash" >>/etc/passwd
}

# The environments of `install_experiments` outlast the containers, whose files' times say nothing about them: after a
# change of what they are made from, make shall bring them up to date.
renew_environments() {
    local made_from venvs=/rlscope/.venvs
    made_from="$(
        cd /rlscope
        python3 --version
        find CMakeLists.txt pyproject.toml cmake src rlscope experiments/requirements -type f \
            -not -name '*.so' -not -name '*.pyc' -exec sha256sum {} + | sort
    )"
    [[ "$(cat $venvs/.made_from 2>/dev/null)" != "$made_from" ]] || return 0
    if rm -f $venvs/*/.environment $venvs/*/.package && [[ -w $venvs ]]; then
        echo "$made_from" >$venvs/.made_from
    else
        echo "rlscope: note: .venvs/ is another user's and cannot be brought up to date by uid $(id -u)"
    fi
}

main() {
    rm -f /home/rlscope/.ready
    name_caller
    if ! [[ -w /rlscope/output ]]; then
        echo "rlscope: note: uid $(id -u) cannot write to output/: nothing can be saved until its owner or permissions change"
    fi
    build_rlscope || {
        echo "rlscope: error: expected to take over the checkout and build it, found the errors above. Correct them and start again"
        exit 1
    }
    renew_environments
    test_cupti_profiler_api.sh
    touch /home/rlscope/.ready
}

main >&2
exec "$@"
