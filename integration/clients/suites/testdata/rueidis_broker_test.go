package rueidis

import (
	"os"
	"testing"
)

// TestBroker runs the package's tests of pub/sub against the server at
// BROKER_ADDR.
func TestBroker(t *testing.T) {
	for name, option := range map[string]ClientOption{
		"resp3":              {},
		"resp2":              {AlwaysRESP2: true, DisableCache: true},
		"no-auto-pipelining": {DisableAutoPipelining: true},
	} {
		for test, run := range map[string]func(*testing.T, Client){
			"testPubSub":        testPubSub,
			"testPubSubSharded": testPubSubSharded,
		} {
			t.Run(name+"-"+test, func(t *testing.T) {
				option.InitAddress = []string{os.Getenv("BROKER_ADDR")}
				client, err := NewClient(option)
				if err != nil {
					t.Fatal(err)
				}
				defer client.Close()
				run(t, client)
			})
		}
	}
}
