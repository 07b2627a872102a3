package main

import (
	"errors"
	"net"
	"strings"

	"broker/internal/config"
)

// notifyVariable names the socket on which a service manager wants to be told
// of the start and the end; see sd_notify(3).
const notifyVariable = "NOTIFY_SOCKET"

// What it is told.
const (
	notifyReady    = "READY=1\nSTATUS=Ready to accept connections"
	notifyStopping = "STOPPING=1\nSTATUS=Shutting down"
)

var errNoNotifySocket = errors.New(notifyVariable + " is not set")

// A notifier tells the service manager, if there is one to be told.
type notifier struct {
	socket string // "" for none
}

func newNotifier(how config.Supervisor, env []string) (notifier, error) {
	if how == config.SupervisorNone {
		return notifier{}, nil
	}
	for _, entry := range env {
		if socket, ok := strings.CutPrefix(entry, notifyVariable+"="); ok && socket != "" {
			return notifier{socket}, nil
		}
	}
	if how == config.SupervisorSystemd {
		return notifier{}, errNoNotifySocket
	}
	return notifier{}, nil
}

// tell sends one message. It does not wait for the manager to read it.
func (n notifier) tell(state string) error {
	if n.socket == "" {
		return nil
	}
	// A leading '@' stands for Linux's abstract names here as there.
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: n.socket, Net: "unixgram"})
	if err != nil {
		return err
	}
	_, err = c.Write([]byte(state))
	return errors.Join(err, c.Close())
}
