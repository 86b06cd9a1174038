#!/bin/sh
# Writes a small system of this machine's release of Debian (or Ubuntu) to an archive.
set -eu
. /etc/os-release
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
debootstrap --variant=minbase "$VERSION_CODENAME" "$folder" > "$folder.log" 2>&1 || { cat "$folder.log"; exit 1; }
rm -f "$folder.log" "$folder"/var/cache/apt/archives/*.deb
tar --create --file "$1" --numeric-owner --directory "$folder" .
