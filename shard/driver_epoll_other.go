//go:build !linux

package shard

import "errors"

func newEpollDriver(*Group) (driver, error) {
	return nil, errors.New("epoll is not available on this system; use the net driver")
}
