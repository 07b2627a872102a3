#!/usr/bin/env bash
# Builds the image's last stage around a prebuilt program, with buildah: no
# daemon, no registry, no privileges beyond chroot. The folder holds out/, as
# make image-root lays it out; the image is named broker.
set -euo pipefail
root=$(realpath "$1")
cd "$(dirname "$0")/.."

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
# The first stage needs a registry; its result is the folder.
sed -n '/^FROM scratch/,$p' Dockerfile >"$stage/Containerfile"
buildah --storage-driver vfs bud --isolation chroot --format docker --pull-never \
	--build-context "build=$root" --file "$stage/Containerfile" --tag "${IMAGE:-broker}" "$stage"
