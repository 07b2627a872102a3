// Package packaging tests what people install: the container image's last
// stage, the release with its Debian package, the systemd unit and the files
// for monitoring.
//
// Most tests need a program of Debian (buildah, dpkg-deb, systemd-analyze,
// setpriv); see the need function. Reproducibility takes a second build from
// nothing and is checked by make release-check.
package packaging
