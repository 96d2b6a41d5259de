#!/usr/bin/env bash
# Run every case study, then write one page and one table of claims over all of them; --help lists the options.
set -euo pipefail
checkout="$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")"
make --silent -C "$checkout" build simulators
artifacts=("$checkout/.venv/bin/python" "$checkout/scripts/artifacts.py" "$@")
if [[ ! " $* " =~ " "(--help|-h|--dry-run)" " ]]; then
    "${artifacts[@]}" --help >/dev/null  # finds a wrong option before minutes go into what it would need
    make --silent -C "$checkout" install-experiments
fi
exec "${artifacts[@]}"
