#!/usr/bin/env bash
# Makes what a release consists of, in DIST (default: dist): for each
# architecture the binary in an archive and a Debian package, a bill of
# materials, and the checksums of everything. Two runs on the same commit with
# the same Go give the same bytes, wherever the sources lie.
#
#   VERSION=1.2.3 packaging/release.sh [architecture ...]
set -euo pipefail
cd "$(dirname "$0")/.."

NFPM=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2

DIST=$(realpath -m "${DIST:-dist}")
VERSION=${VERSION:-$(sed -n 's/^var Version = "\(.*\)"$/\1/p' internal/broker/version.go)}
# The time of the commit is the time of every file.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
MTIME=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
export SOURCE_DATE_EPOCH
[ $# -gt 0 ] || set -- amd64 arm64

release=$DIST/release
rm -rf "$release"
mkdir -p "$release"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Of the machine that makes the release, whatever it is for.
make --no-print-directory static VERSION="$VERSION" OUT="$work/broker"
"$work/broker" man >"$work/broker.1"
"$work/broker" completion bash >"$work/broker.bash"
"$work/broker" completion zsh >"$work/_broker"
gzip -n9 "$work/broker.1"

for arch in "$@"; do
	name=broker-$VERSION-linux-$arch
	dir=$work/$name
	mkdir -p "$dir"
	GOOS=linux GOARCH=$arch make --no-print-directory static VERSION="$VERSION" OUT="$dir/broker"
	go run ./packaging/sbom -version "$VERSION" "$dir/broker" >"$release/$name.cdx.json"
	sed -e "s|\${GOARCH}|$arch|; s|\${VERSION}|$VERSION|; s|\${MTIME}|$MTIME|; s|\${DIST}|$dir|; s|\${WORK}|$work|" \
		packaging/nfpm.yaml >"$work/nfpm.yaml"
	go run "$NFPM" package --config "$work/nfpm.yaml" --packager deb --target "$release" >/dev/null
	cp "$work/broker.1.gz" "$work/broker.bash" "$work/_broker" "$dir"
	cp -r LICENSE README.md CHANGELOG.md broker.conf docs packaging/broker.service "$dir"
	tar --create --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
		--mtime="@$SOURCE_DATE_EPOCH" --directory="$work" "$name" | gzip -n9 >"$release/$name.tar.gz"
done
(cd "$release" && sha256sum -- * >SHA256SUMS)
cat "$release/SHA256SUMS"
