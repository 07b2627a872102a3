package main

import (
	"fmt"
	"path"
	"strings"
)

// A drive is the way a workload loads its server.
type drive string

const (
	// drivePublish has every publisher send its next batch when the replies to
	// the last one are in and the subscribers are within the window.
	drivePublish drive = "publish"
	// driveLockstep publishes one message, waits until every subscriber has it
	// and the publisher its reply, and publishes the next.
	driveLockstep drive = "lockstep"
	// driveChurn has every churner send batches of SUBSCRIBE and UNSUBSCRIBE.
	driveChurn drive = "churn"
	// driveIdle opens subscribed connections and looks at the memory they cost.
	driveIdle drive = "idle"
	// driveStall publishes to subscribers that do not read.
	driveStall drive = "stall"
)

// A measure is the number by which a workload compares servers. Less is better.
type measure string

const (
	cpuPerOp       measure = "CPU µs/op"
	cpuPerDelivery measure = "CPU µs/delivery"
	latencyP50     measure = "p50 µs"
	memoryPerConn  measure = "KiB/conn"
	memoryGrowth   measure = "MiB grown"
)

// A workload is one row of the comparison. It is immutable.
type workload struct {
	Name  string  `json:"name"`
	Title string  `json:"title"`
	Drive drive   `json:"drive"`
	By    measure `json:"by"`

	// Publishers is the number of publishing connections; Pipeline the number
	// of commands each sends before it waits for their replies.
	Publishers int `json:"publishers,omitempty"`
	Pipeline   int `json:"pipeline,omitempty"`
	// Channels is the number of channels, one drawn at random per PUBLISH.
	Channels int `json:"channels,omitempty"`
	// Subscribers is the number of subscribers of each channel, every one on a
	// connection of its own.
	Subscribers int `json:"subscribers,omitempty"`
	// PayloadBytes is the length of each payload.
	PayloadBytes int `json:"payload_bytes,omitempty"`

	// Patterns is the number of subscribed patterns that match no channel, and
	// PatternForm their fmt form with one integer verb.
	Patterns    int    `json:"patterns,omitempty"`
	PatternForm string `json:"pattern_form,omitempty"`
	// Matching is the number of patterns, beside Patterns, that match every
	// channel. At most len(matchingPatterns).
	Matching int `json:"matching,omitempty"`

	// Churners is the number of connections that subscribe and unsubscribe;
	// Existing the number of other channels that have a subscriber meanwhile.
	Churners int `json:"churners,omitempty"`
	Existing int `json:"existing,omitempty"`

	// Conns is the number of connections an idle workload opens.
	Conns int `json:"conns,omitempty"`
	// Messages is the number of messages a stall workload publishes.
	Messages int `json:"messages,omitempty"`

	// Poll has the receivers poll instead of sleeping until data arrives.
	Poll bool `json:"poll,omitempty"`
	// RESPOnly excludes peers that speak another protocol, because the
	// workload would be other work there.
	RESPOnly bool `json:"resp_only,omitempty"`
}

// channelForm names channels. Its width is fixed so that a message has the
// same length on every channel and totals can be checked by counting bytes.
const (
	channelForm   = "ch%07d"
	channelDigits = 7
	maxChannels   = 10_000_000
)

// matchingPatterns match every name channelForm gives to a number below one
// million. They differ, so each is a subscription of its own.
var matchingPatterns = [...]string{
	"c*", "ch*", "ch0*", "c?0*", "ch0?*", "ch0??*", "ch0???*", "ch0????*", "ch0?????*", "ch0??????",
}

// workloads returns the rows in the order they are listed and run.
func workloads() []workload {
	rows := []workload{}
	add := func(w workload) { rows = append(rows, w) }

	for _, depth := range []int{1, 30} {
		add(workload{
			Name: fmt.Sprintf("W1p%d", depth), Drive: drivePublish, By: cpuPerOp,
			Title:      fmt.Sprintf("PUBLISH, no subscribers, 1 M channels, 50 publishers, pipeline %d, 32 B", depth),
			Publishers: 50, Pipeline: depth, Channels: 1_000_000, PayloadBytes: 32,
		})
	}
	for _, depth := range []int{1, 30} {
		add(workload{
			Name: fmt.Sprintf("W2p%d", depth), Drive: drivePublish, By: cpuPerOp,
			Title:      fmt.Sprintf("1000 channels of 3 subscribers on 3000 connections, 50 publishers, pipeline %d, 32 B", depth),
			Publishers: 50, Pipeline: depth, Channels: 1000, Subscribers: 3, PayloadBytes: 32,
		})
	}
	for _, depth := range []int{1, 30} {
		add(workload{
			Name: fmt.Sprintf("W3p%d", depth), Drive: drivePublish, By: cpuPerOp,
			Title:      fmt.Sprintf("one channel of 8 subscribers, 50 publishers, pipeline %d, 32 B", depth),
			Publishers: 50, Pipeline: depth, Channels: 1, Subscribers: 8, PayloadBytes: 32,
		})
	}
	add(workload{
		Name: "W4", Drive: driveLockstep, By: cpuPerDelivery,
		Title:      "one message at a time to 1000 subscribers that poll, 64 B",
		Publishers: 1, Pipeline: 1, Channels: 1, Subscribers: 1000, PayloadBytes: 64, Poll: true,
	})
	add(workload{
		Name: "W4p30", Drive: drivePublish, By: cpuPerDelivery,
		Title:      "one publisher, pipeline 30, to 1000 subscribers, 64 B",
		Publishers: 1, Pipeline: 30, Channels: 1, Subscribers: 1000, PayloadBytes: 64,
	})
	add(workload{
		Name: "W5", Drive: driveLockstep, By: latencyP50,
		Title:      "one message at a time to one subscriber that polls, 32 B",
		Publishers: 1, Pipeline: 1, Channels: 1, Subscribers: 1, PayloadBytes: 32, Poll: true,
	})
	add(workload{
		Name: "W6", Drive: driveIdle, By: memoryPerConn,
		Title: "10,000 connections, each subscribed to a channel of its own",
		Conns: 10_000,
	})
	for _, depth := range []int{1, 30} {
		add(workload{
			Name: fmt.Sprintf("W7ap%d", depth), Drive: driveChurn, By: cpuPerOp,
			Title:    fmt.Sprintf("SUBSCRIBE and UNSUBSCRIBE of own channels beside 100k others, 50 connections, pipeline %d", depth),
			Churners: 50, Pipeline: depth, Existing: 100_000,
		})
	}
	for _, depth := range []int{1, 30} {
		add(workload{
			Name: fmt.Sprintf("W7bp%d", depth), Drive: driveChurn, By: cpuPerOp,
			Title:    fmt.Sprintf("SUBSCRIBE and UNSUBSCRIBE of one channel with 5000 subscribers, 50 connections, pipeline %d", depth),
			Churners: 50, Pipeline: depth, Channels: 1, Subscribers: 5000,
		})
	}
	for _, n := range []int{1, 100, 10_000} {
		add(workload{
			Name: fmt.Sprintf("W8n%d", n), Drive: drivePublish, By: cpuPerOp,
			Title:      fmt.Sprintf("PUBLISH as W1p30 beside %d patterns prefix.* that do not match", n),
			Publishers: 50, Pipeline: 30, Channels: 1_000_000, PayloadBytes: 32,
			Patterns: n, PatternForm: "pat%07d.*",
		})
	}
	add(workload{
		Name: "W8suffix", Drive: drivePublish, By: cpuPerOp,
		Title:      "PUBLISH as W1p30 beside 10,000 patterns *.suffix that do not match",
		Publishers: 50, Pipeline: 30, Channels: 1_000_000, PayloadBytes: 32,
		Patterns: 10_000, PatternForm: "*.pat%07d", RESPOnly: true,
	})
	add(workload{
		Name: "W8match10", Drive: drivePublish, By: cpuPerOp,
		Title:      "PUBLISH as W1p30 beside 10,000 patterns of which 10 match",
		Publishers: 50, Pipeline: 30, Channels: 1_000_000, PayloadBytes: 32,
		Patterns: 9_990, PatternForm: "pat%07d.*", Matching: 10, RESPOnly: true,
	})
	for _, size := range []struct {
		name     string
		bytes    int
		pipeline int // large messages fill a turn of the server alone
	}{{"64B", 64, 16}, {"1K", 1 << 10, 16}, {"16K", 16 << 10, 16}, {"256K", 256 << 10, 1}, {"1M", 1 << 20, 1}} {
		add(workload{
			Name: "W9s" + size.name, Drive: drivePublish, By: cpuPerDelivery,
			Title:      fmt.Sprintf("one publisher, pipeline %d, to 100 subscribers, %d B", size.pipeline, size.bytes),
			Publishers: 1, Pipeline: size.pipeline, Channels: 1, Subscribers: 100, PayloadBytes: size.bytes,
		})
	}
	add(workload{
		Name: "W10", Drive: driveStall, By: memoryGrowth,
		Title:      "10,240 messages of 1 KiB, one by one, to 1000 subscribers that do not read",
		Publishers: 1, Pipeline: 1, Channels: 1, Subscribers: 1000, PayloadBytes: 1 << 10, Messages: 10_240,
		RESPOnly: true,
	})
	return rows
}

// defaultSelection is what runs when the command line names no workload.
const defaultSelection = "W1p1,W1p30,W3p1,W3p30"

// selectWorkloads returns the rows a comma-separated list names, in table
// order. A name may be a glob as path.Match reads it; "all" names every row.
// A name without a row is an error.
func selectWorkloads(all []workload, list string) ([]workload, error) {
	chosen := make([]bool, len(all))
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if name == "all" {
			name = "*"
		}
		found := false
		for i, w := range all {
			ok, err := path.Match(name, w.Name)
			if err != nil {
				return nil, fmt.Errorf("workload %q: %w", name, err)
			}
			if ok {
				chosen[i], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("no workload is named %q", name)
		}
	}
	var out []workload
	for i, w := range all {
		if chosen[i] {
			out = append(out, w)
		}
	}
	return out, nil
}

// A window bounds how far subscribers may be behind the publishers: at most
// windowDeliveries deliveries and about windowTotalBytes, but never less than
// one message to all. Within it no server reaches an output buffer limit of
// its own, and none is measured on how it grows a backlog.
const (
	windowDeliveries = 100_000
	windowTotalBytes = 32 << 20
)

// windowBytes returns the window for messages of which one PUBLISH delivers
// deliveries, in bytesPerPublish bytes altogether. Both are zero for a
// workload without subscribers, whose window is never reached.
func windowBytes(deliveries int, bytesPerPublish int64) int64 {
	if deliveries == 0 {
		return 0
	}
	perDelivery := bytesPerPublish / int64(deliveries)
	return max(min(windowDeliveries*perDelivery, windowTotalBytes), bytesPerPublish)
}
