package shard

import (
	"flag"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"broker/channelstore"
	"broker/resp"
)

// Deterministic simulation.
//
// A simulation runs the loops of a group as coroutines of one goroutine: each
// runs until it looks for events, is about to run a command or to write, and
// then a seeded scheduler chooses what happens next: another loop goes on,
// bytes reach it, a client sends or makes room, the clock moves, a connection
// breaks. So a command of one loop stands between two commands of another's
// turn, which real concurrency brings about rarely, and a seed brings it about
// every time. Clock and timers are those of a synctest bubble.
//
// simulation_model_test.go says what must come out.

// simulationSeed replays one seed: what a failure prints.
var simulationSeed = flag.Uint64("simulation-seed", 0, "run the simulation with this seed only")

// simulationSteps is the length of one run.
const simulationSteps = 200

// A simFault is what is wrong with a simulated group.
type simFault int

const (
	simFaultless simFault = iota
	simLostWakeUp
	simNoGracePeriod
	simInboxOutOfOrder
	simAckBeforeSnapshot
	simForgottenUnsubscribe
)

// A simulation is one run.
type simulation struct {
	r       *rand.Rand
	fault   simFault
	group   *Group
	words   testBroker // its commands
	loops   []*simLoop
	clients []*simClient
	step    int
	sent    int // messages

	transcribe bool // clients keep what they receive
	failure    error
	byID       map[int]*simMessage // all messages so far

	// For simAckBeforeSnapshot: what it does later, and for which client and name.
	delayed []func()
	waiting map[[2]string]bool
}

func newSimulation(seed uint64, fault simFault) *simulation {
	sim := &simulation{r: rand.New(rand.NewPCG(seed, 0)), fault: fault, byID: map[int]*simMessage{}, waiting: map[[2]string]bool{}}
	shards := 1 + sim.r.IntN(4)
	cfg := Config{
		Shards:            shards,
		Handle:            sim.handle,
		Settings:          Settings{QueryBufferBytes: 1 << 20},
		ReplyBacklogBytes: 1 << 20,
		Limits:            resp.DefaultLimits(),
		Log:               slog.New(slog.DiscardHandler),
	}
	g := &Group{cfg: cfg, store: channelstore.New[*Session](shards), started: time.Now()}
	sim.group = g
	for i := range shards {
		sl := &simLoop{sim: sim}
		sl.loop = newLoop(g, i, sl)
		g.loops = append(g.loops, sl.loop)
		sim.loops = append(sim.loops, sl)
	}
	for _, sl := range sim.loops {
		sl.next, sl.stop = iter.Pull(func(yield func(struct{}) bool) {
			sl.yield = yield
			for !sl.loop.stopped {
				sl.loop.turn()
			}
		})
	}
	for range 3 + sim.r.IntN(4) {
		sim.dial()
	}
	return sim
}

func (sim *simulation) now() int64 { return int64(time.Since(sim.group.started)) }

func (sim *simulation) fail(format string, args ...any) {
	if sim.failure == nil {
		sim.failure = fmt.Errorf("step %d: "+format, append([]any{sim.step}, args...)...)
	}
}

func (sim *simulation) dial() {
	c := newSimClient(sim, len(sim.clients))
	if sim.r.IntN(3) == 0 {
		c.room = sim.r.IntN(300) // does not keep up
	}
	sim.clients = append(sim.clients, c)
	sim.group.Adopt(Conn{FD: c.id})
}

// run makes the given number of steps, lets everything come to rest, and
// compares what arrived with what should have.
func (sim *simulation) run(steps int) error {
	for sim.step = 0; sim.step < steps && sim.failure == nil; sim.step++ {
		sim.takeStep()
	}
	for _, c := range sim.clients {
		c.room = 1 << 30
		c.deliver(len(c.wire))
	}
	sim.settle()
	if sim.failure == nil {
		sim.check()
	}
	for _, sl := range sim.loops {
		if n := sl.loop.stats.Panics; n > 0 {
			sim.fail("%d panics", n)
		}
		sl.loop.stopped = true
		sl.stop()
	}
	return sim.failure
}

func (sim *simulation) takeStep() {
	switch x := sim.r.IntN(100); {
	case x < 55:
		sl := sim.loops[sim.r.IntN(len(sim.loops))]
		if sl.runnable() {
			sl.next()
		}
	case x < 75:
		sim.pick().send()
	case x < 90:
		c := sim.pick()
		if n := len(c.wire); n > 0 {
			c.deliver(1 + sim.r.IntN(n))
		}
	case x < 94:
		sim.pick().room += sim.r.IntN(400)
	case x < 96:
		time.Sleep(time.Duration(sim.r.IntN(400)) * time.Millisecond)
	case x < 97:
		sim.dial()
	case x < 98:
		c := sim.pick()
		c.dying = true
		if c.eof = true; sim.r.IntN(2) == 0 {
			c.broken = true
		}
	case x < 99:
		// Somebody else asks for its end, as CLIENT KILL does.
		c := sim.pick()
		if s := c.session; s != nil && !c.gone {
			c.dying = true
			s.loop.post(func(*Loop) { s.CloseNow(CloseByKill) })
		}
	default:
		if sim.fault == simInboxOutOfOrder {
			q := &sim.loops[sim.r.IntN(len(sim.loops))].loop.inbox
			if first := q.head.Load(); first != nil && first.next != nil {
				second := first.next
				first.next, second.next = second.next, first
				q.head.Store(second)
			}
		}
	}
}

func (sim *simulation) pick() *simClient { return sim.clients[sim.r.IntN(len(sim.clients))] }

// settle runs all loops until none has anything to do.
func (sim *simulation) settle() {
	const enough = 1 << 20
	for range enough {
		busy := false
		for _, sl := range sim.loops {
			if sl.runnable() {
				busy = true
				sl.next()
			}
		}
		if !busy || sim.failure != nil {
			return
		}
	}
	sim.fail("the loops do not come to rest")
}

// handle stands between the loops and the commands.
func (sim *simulation) handle(s *Session, args [][]byte) {
	sim.loops[s.loop.id].pause()
	if len(sim.delayed) > 0 && sim.r.IntN(4) == 0 {
		for _, f := range sim.delayed {
			f()
		}
		sim.delayed = nil
		clear(sim.waiting)
	}
	c := sim.clients[s.fd]
	c.session = s
	if s.state == closed {
		return // a client whose end came during the pause
	}
	c.expect(args)
	switch verb := string(args[0]); {
	case sim.fault == simAckBeforeSnapshot && verb == "SUB":
		sim.ackBeforeSnapshot(s, args[1:])
	case sim.fault == simNoGracePeriod && verb == "UNSUB":
		var odd []*Loop
		for _, l := range sim.group.loops {
			if l != s.loop && l.epoch.Load()&1 != 0 {
				odd = append(odd, l)
				l.epoch.Add(1)
			}
		}
		sim.words.handle(s, args)
		for _, l := range odd {
			l.epoch.Add(^uint64(0))
		}
	case sim.fault == simForgottenUnsubscribe && verb == "UNSUB" && len(args) > 1 && sim.r.IntN(4) == 0:
		sub := s.subs.find(channelstore.Channels, args[1])
		sim.words.handle(s, args)
		if sub != nil {
			sim.group.store.Subscribe(channelstore.Channels, s.loop.id, s, args[1:2], nil)
		}
	default:
		sim.words.handle(s, args)
	}
}

// ackBeforeSnapshot is a SUBSCRIBE that is answered before a PUBLISH can see
// it.
func (sim *simulation) ackBeforeSnapshot(s *Session, names [][]byte) {
	for _, name := range names {
		if s.subs.find(channelstore.Channels, name) == nil {
			name := []byte(string(name))
			if waits := [2]string{strconv.Itoa(int(s.fd)), string(name)}; !sim.waiting[waits] {
				sim.waiting[waits] = true
				s.counts[channelstore.Channels]++
			}
			sim.delayed = append(sim.delayed, func() {
				if s.state == open && s.subs.find(channelstore.Channels, name) == nil {
					s.subs.add(sim.group.store.Subscribe(channelstore.Channels, s.loop.id, s, [][]byte{name}, nil)[0])
				}
			})
		}
		s.appendAck("subscribe", name, s.ackCount(channelstore.Channels))
	}
}

// simulate runs one seed inside a bubble and returns how many messages
// arrived.
func simulate(t *testing.T, seed uint64, fault simFault) (arrived int, err error) {
	synctest.Test(t, func(*testing.T) {
		sim := newSimulation(seed, fault)
		err = sim.run(simulationSteps)
		for _, c := range sim.clients {
			arrived += len(c.arrived)
		}
	})
	return arrived, err
}

// TestSimulation compares many seeded runs with the model. RELIABILITY=full
// makes them 50,000.
func TestSimulation(t *testing.T) {
	if *simulationSeed != 0 {
		if _, err := simulate(t, *simulationSeed, simFaultless); err != nil {
			t.Fatal(err)
		}
		return
	}
	seeds := uint64(2_000)
	if raceEnabled {
		seeds /= 8
	}
	if os.Getenv("RELIABILITY") == "full" {
		seeds = 50_000
	}
	// A few new ones each time, beside those that are always the same.
	fresh := seeds / 10
	base, arrived := uint64(time.Now().UnixNano()), 0
	for i := range seeds {
		seed := i + 1
		if i >= seeds-fresh {
			seed = base + i
		}
		n, err := simulate(t, seed, simFaultless)
		if err != nil {
			t.Fatalf("seed %d: %v\ngo test ./shard -run 'TestSimulation$' -simulation-seed %d", seed, err, seed)
		}
		arrived += n
	}
	if arrived < int(seeds) {
		t.Fatalf("%d deliveries in %d runs: nothing was tested", arrived, seeds)
	}
	t.Logf("%d seeds of %d steps, %d deliveries; the last %d seeds from %d on", seeds, simulationSteps, arrived, fresh, base+seeds-fresh)
	if folder := os.Getenv("FIGURES"); folder != "" {
		figure := fmt.Sprintf("%d seeds of %d steps, %d deliveries, no difference\n", seeds, simulationSteps, arrived)
		if err := os.WriteFile(filepath.Join(folder, "simulation.txt"), []byte(figure), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSimulation_FindsSeededFaults spoils the group in ways that each break an
// invariant.
func TestSimulation_FindsSeededFaults(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fault simFault
	}{
		{"lost wake-up", simLostWakeUp},
		{"unsubscribing without a grace period", simNoGracePeriod},
		{"inbox out of order", simInboxOutOfOrder},
		{"ack before the snapshot", simAckBeforeSnapshot},
		{"forgotten unsubscribe", simForgottenUnsubscribe},
	} {
		t.Run(tc.name, func(t *testing.T) {
			const seeds = 2_000
			for seed := uint64(1); seed <= seeds; seed++ {
				if _, err := simulate(t, seed, tc.fault); err != nil {
					t.Logf("seed %d: %v", seed, err)
					return
				}
			}
			t.Errorf("not found with %d seeds", seeds)
		})
	}
}

// TestSimulation_IsDeterministic runs seeds twice: the same clients get the
// same bytes in the same steps.
func TestSimulation_IsDeterministic(t *testing.T) {
	for seed := uint64(1); seed <= 100; seed++ {
		var transcripts [2]string
		for i := range transcripts {
			synctest.Test(t, func(t *testing.T) {
				sim := newSimulation(seed, simFaultless)
				sim.transcribe = true
				if err := sim.run(simulationSteps); err != nil {
					t.Fatal(err)
				}
				for _, c := range sim.clients {
					transcripts[i] += c.transcript.String() + "\n"
				}
			})
		}
		if transcripts[0] != transcripts[1] {
			t.Fatalf("seed %d: two runs differ:\n%s\n%s", seed, transcripts[0], transcripts[1])
		}
	}
}
