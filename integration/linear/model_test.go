package linear

import (
	"fmt"
	"math/bits"

	"github.com/anishathalye/porcupine"
)

// A verb is what an operation does.
type verb uint8

const (
	subscribe verb = iota
	unsubscribe
	publish
)

func (v verb) String() string { return [...]string{"SUBSCRIBE", "UNSUBSCRIBE", "PUBLISH"}[v] }

// clients is a set of clients, by number.
type clients uint16

// maxClients is how many a set holds.
const maxClients = 16

// An input is an operation as it was asked for.
type input struct {
	verb    verb
	channel int
	client  int
}

// An output is what became of a PUBLISH; of the others it is empty: that they
// were answered is all there is.
type output struct {
	count int     // the reply
	got   clients // who received the message
}

// model is one channel: the state is the set of its subscribers.
var model = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		var parts [][]porcupine.Operation
		for _, op := range history {
			channel := op.Input.(input).channel
			for len(parts) <= channel {
				parts = append(parts, nil)
			}
			parts[channel] = append(parts[channel], op)
		}
		return parts
	},
	Init: func() any { return clients(0) },
	Step: func(state, in, out any) (bool, any) {
		subscribed, i := state.(clients), in.(input)
		switch me := clients(1) << i.client; i.verb {
		case subscribe:
			return true, subscribed | me
		case unsubscribe:
			return true, subscribed &^ me
		}
		o := out.(output)
		return o.got == subscribed && o.count == bits.OnesCount16(uint16(subscribed)), subscribed
	},
	DescribeOperation: func(in, out any) string {
		i, o := in.(input), out.(output)
		if i.verb == publish {
			return fmt.Sprintf("client %d %v channel %d: %d receivers, %b", i.client, i.verb, i.channel, o.count, o.got)
		}
		return fmt.Sprintf("client %d %v channel %d", i.client, i.verb, i.channel)
	},
}
