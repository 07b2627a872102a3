package shard

// Stats are a loop's counters. They are plain fields of the loop, added up by
// whoever asks (see Gather): no counter is shared between shards.
type Stats struct {
	Connections            int64 // adopted since the start
	Sessions               int64 // now
	SubscriberSessions     int64 // now, with at least one subscription
	NetInputBytes          int64
	NetOutputBytes         int64
	OutputLimitDisconnects int64
	QueryLimitDisconnects  int64
	ProtocolErrors         int64
	Panics                 int64
	Turns                  int64
	Wakeups                int64 // turns that began with a sleep
	CPUNanos               int64 // processor time of the loop since the start; 0 under the net driver
	Messages               int64 // published by this shard's sessions
	Deliveries             int64 // frames appended to outboxes
	Dropped                int64 // frames that were not sent, by a slow-subscriber policy
	Closed                 [closeReasons]int64

	// BehindSessions counts the sessions whose socket does not take what they
	// are owed, and OwedBytes what those are owed, now.
	BehindSessions int64
	OwedBytes      int64

	// FanOut counts published messages by their receivers, and MessageBytes by
	// the length of their payload; index i takes the numbers of i bits. A busy
	// loop looks at one message in some (see traffic.go) and counts it as all.
	// The sums are of the same messages.
	FanOut, MessageBytes       [SizeBuckets]int64
	FanOutSum, MessageBytesSum int64
}

// SizeBuckets is the number of buckets of the distributions in Stats; the last
// takes everything that is larger.
const SizeBuckets = 32

// Stats returns the loop's counters as they are now.
func (l *Loop) Stats() Stats {
	st := l.stats
	st.Sessions = int64(len(l.sessions))
	st.OwedBytes = l.owed
	if l.driver.ownThread() {
		st.CPUNanos = threadCPU()
	}
	return st
}

// Add adds the counters of o.
func (st *Stats) Add(o Stats) {
	st.Connections += o.Connections
	st.Sessions += o.Sessions
	st.SubscriberSessions += o.SubscriberSessions
	st.NetInputBytes += o.NetInputBytes
	st.NetOutputBytes += o.NetOutputBytes
	st.OutputLimitDisconnects += o.OutputLimitDisconnects
	st.QueryLimitDisconnects += o.QueryLimitDisconnects
	st.ProtocolErrors += o.ProtocolErrors
	st.Panics += o.Panics
	st.Turns += o.Turns
	st.Wakeups += o.Wakeups
	st.CPUNanos += o.CPUNanos
	st.Messages += o.Messages
	st.Deliveries += o.Deliveries
	st.Dropped += o.Dropped
	for i := range st.Closed {
		st.Closed[i] += o.Closed[i]
	}
	st.BehindSessions += o.BehindSessions
	st.OwedBytes += o.OwedBytes
	for i := range st.FanOut {
		st.FanOut[i] += o.FanOut[i]
		st.MessageBytes[i] += o.MessageBytes[i]
	}
	st.FanOutSum += o.FanOutSum
	st.MessageBytesSum += o.MessageBytesSum
}
