package cases

import (
	"slices"
	"sync"
	"testing"
	"time"

	"broker/integration/harness"
)

// variants are the brokers that the cases run on. One shard has no races that
// two have not, and the race detector makes each variant dear.
func variants() []harness.Variant {
	if harness.RaceDetector {
		return harness.Variants(2)
	}
	return harness.Variants(1, 2)
}

// TestCases plays every case that the broker can play, for one and two shards
// and every I/O driver.
func TestCases(t *testing.T) {
	var all sync.WaitGroup
	for _, c := range loadCases(t) {
		if notYet[c.ID] != "" {
			continue
		}
		all.Go(func() {
			t.Run(c.ID, func(t *testing.T) {
				var running sync.WaitGroup
				for _, v := range variants() {
					running.Go(func() {
						t.Run(v.String(), func(t *testing.T) {
							slots <- struct{}{}
							defer func() { <-slots }()
							start := v.Start
							if slices.Contains(c.Needs, "tls") {
								start = v.StartTLS
							}
							check(t, start(t, flags(c)...), c)
						})
					})
				}
				running.Wait()
			})
		})
	}
	all.Wait()
}

// flags returns those of a broker that is to play c.
func flags(c Case) []string {
	if slices.Contains(c.Needs, "cluster") {
		return []string{"--cluster-enabled", "yes"}
	}
	return nil
}

// TestNotYet_EveryEntryStillFails keeps the table of notYet from outliving its
// reasons.
func TestNotYet_EveryEntryStillFails(t *testing.T) {
	var all sync.WaitGroup
	for _, c := range loadCases(t) {
		needs, ok := notYet[c.ID]
		if !ok {
			continue
		}
		all.Go(func() {
			t.Run(c.ID, func(t *testing.T) {
				slots <- struct{}{}
				defer func() { <-slots }()
				target := harness.Variant{Shards: 1, IO: "net"}.Start(t, flags(c)...)
				// A short limit is on the safe side: what has not come by then is
				// taken for missing, as the table says.
				r := &run{addr: target.Addr, limit: time.Second, slowFactor: 1}
				if err := r.play(c); err == nil {
					t.Errorf("%s passes although notYet says that it needs %s: take it out of the table", c.ID, needs)
				}
			})
		})
	}
	all.Wait()
}
