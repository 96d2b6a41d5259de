#!/usr/bin/env bash
# Run every case study, then write one page and one table of claims over all of them; --help lists the options.
set -euo pipefail
checkout="$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")"
make --silent -C "$checkout" build
if [[ " $* " != *" --help "* && " $* " != *" -h "* ]]; then make --silent -C "$checkout" install-experiments; fi
exec "$checkout/.venv/bin/python" "$checkout/scripts/artifacts.py" "$@"
