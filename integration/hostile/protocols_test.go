package hostile

import (
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"broker/integration/harness"
	"broker/integration/reliability"
)

// secret is what the attackers below try to publish.
const secret = "PUBLISH victim taken\r\n"

// foreign are first packets of other protocols that a browser or a mail server
// can be made to send, with a command smuggled into them.
var foreign = []struct{ name, packet string }{
	{"POST", "POST / HTTP/1.1\r\nHost: broker\r\nContent-Length: 22\r\n\r\n" + secret},
	{"POST in lower case", "post / HTTP/1.1\r\n\r\n" + secret},
	{"GET with a host", "GET / HTTP/1.1\r\nHost: broker\r\n\r\n" + secret},
	{"host in lower case", "GET / HTTP/1.1\r\nhost: broker\r\n\r\n" + secret},
	{"host in capitals", "OPTIONS * HTTP/1.1\r\nHOST: broker\r\n\r\n" + secret},
	{"PUT", "PUT /x HTTP/1.1\r\nHost: broker\r\n\r\n" + secret},
	{"POST as a multibulk command", "*1\r\n$4\r\nPOST\r\n" + secret},
	{"TLS", "\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03" + strings.Repeat("\x07", 60) + "\r\n" + secret},
}

// TestForeignProtocols_RunNothing: what speaks something else is closed at its
// first packet, and no command in it runs.
func TestForeignProtocols_RunNothing(t *testing.T) {
	for _, v := range harness.Variants(2) {
		t.Run(v.String(), func(t *testing.T) {
			target := v.Start(t)
			victim := target.Dial(t)
			if _, err := victim.Do("SUBSCRIBE", "victim"); err != nil {
				t.Fatal(err)
			}
			for _, f := range foreign {
				c := target.Dial(t)
				// The server may close before everything is sent.
				_ = c.Send([]byte(f.packet))
				got, err := c.UntilClosed()
				if err != nil {
					t.Errorf("%s: %v", f.name, err)
				}
				if strings.Contains(string(got), ":") {
					t.Errorf("%s: something was run: %s", f.name, harness.Show(got))
				}
			}
			got, err := victim.Barrier(nil)
			if err != nil || len(got) > 0 {
				t.Errorf("the victim received %s %v", harness.Show(got), err)
			}
			reliability.Note(t, "cross-protocol", "%d kinds of first packet, all closed, nothing run", len(foreign))
		})
	}
}

// TestForeignProtocols_TLSOnThePlainPort is a whole client of TLS: it is told
// at once, not after a timeout of its own.
func TestForeignProtocols_TLSOnThePlainPort(t *testing.T) {
	for _, v := range harness.Variants(2) {
		target := v.Start(t)
		raw, err := net.Dial("tcp", target.Addr)
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		if err := raw.SetDeadline(time.Now().Add(harness.Patience)); err != nil {
			t.Fatal(err)
		}
		err = tls.Client(raw, &tls.Config{InsecureSkipVerify: true}).Handshake()
		var timeout net.Error
		if err == nil || errors.As(err, &timeout) && timeout.Timeout() {
			t.Errorf("%v: the handshake ended with %v", v, err)
		}
	}
}
