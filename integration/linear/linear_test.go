package linear

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"go.uber.org/goleak"

	"broker/integration/harness"
	"broker/integration/reliability"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// network is a server reached over TCP. Each history has names of its own.
type network struct {
	t      *testing.T
	addr   string
	prefix string
}

// A networkClient speaks RESP3, so that it can publish while it is subscribed.
type networkClient struct {
	conn   *harness.Conn
	prefix string
	got    []uint32
}

func (s *network) dial(int) (client, error) {
	c, err := harness.Dial(s.addr)
	if err != nil {
		return nil, err
	}
	if v, err := c.Do("HELLO", "3"); err != nil || v.Type != '%' {
		c.Close()
		return nil, fmt.Errorf("HELLO: %v %w", v, err)
	}
	return &networkClient{conn: c, prefix: s.prefix}, nil
}

func (c *networkClient) run(v verb, channel int, id uint32) (int, error) {
	// Every other channel is a shard channel; the two kinds share nothing.
	shardLetter := ""
	if channel%2 == 1 {
		shardLetter = "S"
	}
	name := c.prefix + strconv.Itoa(channel)
	var err error
	if v == publish {
		err = c.conn.Command(shardLetter+v.String(), name, strconv.FormatUint(uint64(id), 10))
	} else {
		err = c.conn.Command(shardLetter+v.String(), name)
	}
	if err != nil {
		return 0, err
	}
	for {
		reply, err := c.conn.Next()
		if err != nil {
			return 0, err
		}
		if c.takeMessage(reply) {
			continue
		}
		if n, ok := reply.Int(); ok && v == publish {
			return int(n), nil
		}
		if _, rest, ok := reply.Message(); ok && v != publish && rest[0].Text == name {
			return 0, nil
		}
		return 0, fmt.Errorf("%v %s was answered %v", v, name, reply)
	}
}

// takeMessage notes a message; it returns false for anything else.
func (c *networkClient) takeMessage(v harness.Value) bool {
	kind, rest, ok := v.Message()
	if !ok || kind != "message" && kind != "smessage" {
		return false
	}
	id, err := strconv.ParseUint(rest[1].Text, 10, 32)
	if err != nil {
		id = 1<<32 - 1 // belongs to no client: the history is refused
	}
	c.got = append(c.got, uint32(id))
	return true
}

func (c *networkClient) finish() ([]uint32, error) {
	defer c.conn.Close()
	rest, err := c.conn.Barrier(nil)
	if err != nil {
		return nil, err
	}
	values, err := harness.ParseAll(rest)
	if err != nil {
		return nil, err
	}
	for _, v := range values {
		if !c.takeMessage(v) {
			return nil, fmt.Errorf("received %v", v)
		}
	}
	return c.got, nil
}

// explain says which channel has no explanation, with some of its history.
func explain(history []porcupine.Operation) string {
	for channel, part := range model.Partition(history) {
		if porcupine.CheckOperations(model, part) {
			continue
		}
		// The shortest beginning that cannot be explained: what ended later
		// than its last operation can only help, so it is searched by halves.
		lo, hi := 0, len(part)
		for lo < hi {
			if mid := (lo + hi) / 2; porcupine.CheckOperations(model, part[:mid]) {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		text := fmt.Sprintf("channel %d:", channel)
		for _, op := range part[max(0, lo-12):lo] {
			text += fmt.Sprintf("\n%d..%d %s", op.Call, op.Return, model.DescribeOperation(op.Input, op.Output))
		}
		return text
	}
	return "no channel"
}

// TestLinearizable records histories of the broker, with every number of
// shards and every driver in turn, and looks for an order that explains each.
func TestLinearizable(t *testing.T) {
	variants := harness.Variants(1, 2, 8)
	histories := reliability.Size(2*len(variants), 100)
	ops := reliability.Size(6_000, 40_000)
	targets := make([]*harness.Target, len(variants))
	for i, v := range variants {
		targets[i] = v.Start(t)
	}
	var checked int
	var spent time.Duration
	for h := range histories {
		i := h % len(variants)
		// Few channels make receivers many, many make channels come and go.
		p := plan{clients: 8, channels: 32, ops: ops, seed: uint64(h)}
		if h%2 == 1 {
			p.channels = 6
		}
		history, err := record(&network{t, targets[i].Addr, fmt.Sprintf("h%d.", h)}, p)
		if err != nil {
			t.Fatalf("%v, seed %d: %v", variants[i], p.seed, err)
		}
		begin := time.Now()
		if !porcupine.CheckOperations(model, history) {
			t.Fatalf("%v, seed %d: no order explains the history\n%s", variants[i], p.seed, explain(history))
		}
		spent += time.Since(begin)
		checked += len(history)
	}
	reliability.Note(t, "linear", "%d histories, %d operations, none without an explanation", histories, checked)
	t.Logf("checking took %v", spent)
}

// TestLinearizable_RedisToo is the control: what the model calls legal is what
// Redis does.
func TestLinearizable_RedisToo(t *testing.T) {
	target := harness.StartRedis(t)
	history, err := record(&network{t, target.Addr, "r."}, plan{clients: 8, channels: 16, ops: reliability.Size(4_000, 40_000), seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if !porcupine.CheckOperations(model, history) {
		t.Fatalf("no order explains the history\n%s", explain(history))
	}
}

// TestChecker_FindsSeededFaults puts each fault into the test's own store.
func TestChecker_FindsSeededFaults(t *testing.T) {
	const attempts = 50
	for _, tc := range []struct {
		name  string
		fault fault
	}{
		{"none", faultless},
		{"ack before the snapshot", ackBeforeSnapshot},
		{"lost wake-up", lostWakeUp},
		{"stale slot", staleSlot},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for seed := range uint64(attempts) {
				p := plan{clients: 8, channels: 4, ops: 4_000, seed: seed}
				history, err := record(newFaultyStore(tc.fault, p.channels), p)
				// A message that came twice is an answer as well.
				found := err != nil || !porcupine.CheckOperations(model, history)
				switch {
				case found && tc.fault == faultless:
					t.Fatalf("seed %d: a store without a fault is accused: %v", seed, err)
				case found:
					t.Logf("found with seed %d, %v", seed, err)
					return
				}
				if tc.fault == faultless && seed == 4 {
					return
				}
			}
			t.Errorf("not found in %d histories", attempts)
		})
	}
}
