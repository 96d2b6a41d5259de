#!/usr/bin/env bash
# Bring what changed in the mounted checkout into the container's copy, which `make` then builds from.
#
# What the checkout ignores stays: environments and compiled files differ inside and outside. Contents are compared, not
# times, since a clone's times say nothing about an image's; what is the same stays untouched, what differs gets the time
# of now, and make sees it. Nothing is deleted at the top: traces may have been written there. Deletions come after the
# rest, since rsync reads there, in the copy, what is ignored.
set -euo pipefail
rsync --recursive --links --checksum --chmod=ugo=rwX \
    --delete-after --filter='protect /*' --exclude=/.git --filter=':- .gitignore' /checkout/ /rlscope/
