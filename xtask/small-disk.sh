#!/bin/sh
# Runs a command with REAR_SMALL_DISK naming a file system of eight megabytes, which is gone afterwards.
set -eu
folder=$(mktemp -d)
trap 'rmdir "$folder"' EXIT
export REAR_SMALL_DISK="$folder"
# In a namespace of its own, so that no rights are needed and nobody else sees it.
unshare --map-root-user --mount sh -eu -c '
    mount -t tmpfs -o size=8m tmpfs "$REAR_SMALL_DISK"
    "$@"
' small-disk "$@"
