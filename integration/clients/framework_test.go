package clients

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A framework is a program that reaches the server through somebody's framework
// or library for something else than pub/sub, which does the pub/sub.
type framework struct {
	name   string
	find   func(*testing.T) ([]string, error)
	protos []int
	// want are the lines that the program prints. If it is several processes,
	// their kinds, which are the first words, may mix.
	want  []string
	mixed bool
}

// socketIO returns the frameworks of Socket.IO's Redis adapters: two servers a
// and b with two clients each, of which only a sends.
func socketIO() []framework {
	everyone := func(payload string) string {
		return strings.ReplaceAll("a1 P, a2 P, b1 P, b2 P", "P", payload)
	}
	var all []framework
	for _, adapter := range []string{"classic", "sharded"} {
		want := []string{
			"all " + everyone("text"),
			"binary " + everyone(digest(everyByte)),
			"large " + everyone(digest(strings.Repeat("x", 500_000))),
			"room b1 to a room, b2 to a room",
			"except a1 to the rest, a2 to the rest",
			"one b2 to one",
			"asked b",
			"answered " + everyone("heard it"),
			"joined b1 to the joined, b2 to the joined",
		}
		if adapter == "classic" {
			want = append(want, "rooms clients of a, clients of b, everyone, joined")
		}
		for _, lib := range []string{"ioredis6", "redis6"} {
			all = append(all, framework{
				name: "socket.io-" + adapter + "-" + lib, find: nodeProgram("socketio.js", lib, adapter),
				protos: []int{2, 3}, want: append(want, "done"),
			})
		}
	}
	return all
}

func frameworks() []framework {
	graphql := []string{`price {"price":1}`, `any {"any":2}`, `any {"any":3}`}
	for i := 4; i < 9; i++ {
		graphql = append(graphql, fmt.Sprintf(`price {"price":%d}`, i))
	}
	const placed, paid = `{"event":"placed","socket":null}`, `{"event":"paid","socket":null}`
	return append(socketIO(),
		framework{
			name: "graphql-redis-subscriptions", find: nodeProgram("graphql.js", "ioredis6"),
			protos: []int{2, 3}, want: append(graphql, "done"),
		},
		framework{
			name: "laravel", find: phpProgram("laravel.php"), protos: []int{2},
			want: []string{
				"pmessage * private-orders.1 " + placed,
				"pmessage * private-orders.2 " + placed,
				"pmessage * private-orders.1 " + paid,
				"pmessage * private-orders.2 " + paid,
				"reply false null",
				"reply false null",
				"done",
			},
			mixed: true,
		})
}

// TestFrameworks runs what others built on pub/sub.
func TestFrameworks(t *testing.T) {
	for _, f := range frameworks() {
		t.Run(f.name, func(t *testing.T) {
			argv := mustFind(t, f.name, f.find)
			for _, s := range []server{redisServer, brokerBinary} {
				for _, proto := range f.protos {
					t.Run(fmt.Sprintf("%s/resp=%d", s.name, proto), func(t *testing.T) {
						t.Parallel()
						printed, said := runProgram(t, argv, open.enter(t, s), proto)
						compareStreams(t, f.name, f.ordered(strings.Split(strings.TrimSuffix(printed, "\n"), "\n")), f.ordered(f.want))
						if t.Failed() {
							t.Logf("it printed\n%s%s", printed, said)
						}
					})
				}
			}
		})
	}
}

// ordered returns the lines in the order in which they are compared.
func (f framework) ordered(lines []string) []string {
	if !f.mixed {
		return lines
	}
	return slices.SortedStableFunc(slices.Values(lines), func(a, b string) int {
		kindA, _, _ := strings.Cut(a, " ")
		kindB, _, _ := strings.Cut(b, " ")
		return strings.Compare(kindA, kindB)
	})
}
