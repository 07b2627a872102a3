#!/usr/bin/env bash
# Makes a release twice, from two folders of different names, the second with a
# build cache of its own, and fails unless the checksums are equal.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
export SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)

for copy in one another/folder; do
	mkdir -p "$work/$copy"
	git archive HEAD | tar -x -C "$work/$copy"
done
DIST=$work/dist1 "$work/one/packaging/release.sh" amd64 >/dev/null
# The tools of the release may come from the usual cache; the program must not.
mkdir "$work/cache"
(cd "$work/another/folder" && GOCACHE=$work/cache make --no-print-directory static OUT="$work/broker2" \
	VERSION="$(sed -n 's/^var Version = "\(.*\)"$/\1/p' internal/broker/version.go)")
tar -xzf "$work"/dist1/release/*.tar.gz -C "$work" --strip-components=1 --wildcards '*/broker'
cmp "$work/broker" "$work/broker2"
DIST=$work/dist2 "$work/another/folder/packaging/release.sh" amd64
diff "$work/dist1/release/SHA256SUMS" "$work/dist2/release/SHA256SUMS"
echo "the same bytes twice"
