package linear

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/anishathalye/porcupine"
)

// A system is what a history is recorded of.
type system interface {
	// dial returns the i-th client of a history.
	dial(i int) (client, error)
}

// A client runs one command at a time.
type client interface {
	// run runs a command and returns when it is answered, with the answer to a
	// PUBLISH. id is what a PUBLISH sends.
	run(v verb, channel int, id uint32) (count int, err error)

	// finish ends the client's part and returns the ids of the messages that
	// reached it, in any order; everything published before the call is among
	// them.
	finish() ([]uint32, error)
}

// An id names an operation: the client in the upper bits, then its number.
const idBits = 24

// A plan says how a history is made.
type plan struct {
	clients, channels, ops int
	seed                   uint64
}

// record lets the clients run random commands and returns what happened.
// It fails when a message came twice, or came and was never sent.
func record(sys system, p plan) ([]porcupine.Operation, error) {
	cs := make([]client, p.clients)
	for i := range cs {
		c, err := sys.dial(i)
		if err != nil {
			return nil, err
		}
		cs[i] = c
	}
	// The clock only has to agree with before and after.
	var clock atomic.Int64
	logs := make([][]porcupine.Operation, p.clients)
	errs := make([]error, p.clients)
	var all sync.WaitGroup
	for i, c := range cs {
		all.Go(func() {
			r := rand.New(rand.NewPCG(p.seed, uint64(i)))
			log := make([]porcupine.Operation, 0, p.ops/p.clients)
			for n := range p.ops / p.clients {
				in := input{channel: r.IntN(p.channels), client: i}
				switch x := r.IntN(10); {
				case x < 3:
					in.verb = subscribe
				case x < 6:
					in.verb = unsubscribe
				default:
					in.verb = publish
				}
				op := porcupine.Operation{ClientId: i, Input: in, Call: clock.Add(1)}
				count, err := c.run(in.verb, in.channel, uint32(i)<<idBits|uint32(n))
				if err != nil {
					errs[i] = fmt.Errorf("client %d: %w", i, err)
					break
				}
				op.Output, op.Return = output{count: count}, clock.Add(1)
				log = append(log, op)
			}
			logs[i] = log
		})
	}
	all.Wait()
	for i, c := range cs {
		ids, err := c.finish()
		if errs[i] == nil {
			errs[i] = err
		}
		for _, id := range ids {
			from, n := int(id>>idBits), int(id&(1<<idBits-1))
			if from >= len(logs) || n >= len(logs[from]) || logs[from][n].Input.(input).verb != publish {
				return nil, fmt.Errorf("client %d received message %x, which nobody sent", i, id)
			}
			out := logs[from][n].Output.(output)
			if out.got&(1<<i) != 0 {
				return nil, fmt.Errorf("client %d received message %x twice", i, id)
			}
			out.got |= 1 << i
			logs[from][n].Output = out
		}
	}
	var history []porcupine.Operation
	for i, log := range logs {
		if errs[i] != nil {
			return nil, errs[i]
		}
		history = append(history, log...)
	}
	return history, nil
}
