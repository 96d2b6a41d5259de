#!/usr/bin/env bash
# Check the claims that studies have judged: an error where one differs that held before; --help lists the options.
set -euo pipefail
checkout="$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")"
make --silent -C "$checkout" build
exec "$checkout/.venv/bin/python" "$checkout/scripts/check_claims.py" "$@"
