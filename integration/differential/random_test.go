package differential

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"broker/integration/harness"
)

// The vocabulary of random conversations is small, so that connections meet.
var (
	randomConns    = []string{"a", "b", "c", "d", "e"}
	randomNames    = []string{"x", "y", "xy", "", "x\r\ny", "\x00\xff", "n.1", "n.2"}
	randomPatterns = []string{"*", "x*", "?", "n.[12]", "[^x]", "*y", "x", "", "\\x", "\xff", "n.?"}
	randomPayloads = []string{"", "1", "hello", "line\r\nline", "\x00\xff"}
)

// randomStep draws one step. The commands that subscribe and publish make up
// most of it; the rest looks at what they left behind.
func randomStep(r *rand.Rand) harness.Step {
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	several := func(from []string) []string {
		var out []string
		for range 1 + r.IntN(3) {
			out = append(out, pick(from))
		}
		return out
	}
	var words []string
	switch n := r.IntN(100); {
	case n < 16:
		words = append([]string{"SUBSCRIBE"}, several(randomNames)...)
	case n < 26:
		words = append([]string{"PSUBSCRIBE"}, several(randomPatterns)...)
	case n < 33:
		words = append([]string{"SSUBSCRIBE"}, several(randomNames)...)
	case n < 43:
		words = append([]string{"UNSUBSCRIBE"}, several(randomNames)...)
	case n < 45:
		words = []string{"UNSUBSCRIBE"}
	case n < 51:
		words = append([]string{"PUNSUBSCRIBE"}, several(randomPatterns)...)
	case n < 52:
		words = []string{"PUNSUBSCRIBE"}
	case n < 56:
		words = append([]string{"SUNSUBSCRIBE"}, several(randomNames)...)
	case n < 57:
		words = []string{"SUNSUBSCRIBE"}
	case n < 77:
		words = []string{"PUBLISH", pick(randomNames), pick(randomPayloads)}
	case n < 84:
		words = []string{"SPUBLISH", pick(randomNames), pick(randomPayloads)}
	case n < 86:
		words = append([]string{"PUBSUB", "NUMSUB"}, several(randomNames)...)
	case n < 88:
		words = []string{"PUBSUB", "NUMPAT"}
	case n < 90:
		words = []string{"PUBSUB", "CHANNELS", pick(randomPatterns)}
	case n < 91:
		words = []string{"PUBSUB", "SHARDCHANNELS"}
	case n < 92:
		words = append([]string{"PUBSUB", "SHARDNUMSUB"}, several(randomNames)...)
	case n < 94:
		words = []string{"PING", pick(randomPayloads)}
	case n < 95:
		words = []string{"PING"}
	case n < 96:
		words = []string{"ECHO", pick(randomPayloads)}
	case n < 97:
		words = []string{"HELLO", pick([]string{"2", "3", "4"})}
	case n < 98:
		words = []string{"RESET"}
	default:
		words = []string{pick([]string{"SUBSCRIBE", "PUBLISH", "PSUBSCRIBE", "PUBSUB", "FOO"})}
	}
	step := harness.Step{Conn: pick(randomConns), Send: harness.AppendCommand(nil, words...)}
	step.Source = fmt.Sprintf("%s: %q", step.Conn, words)
	return step
}

// randomSeed returns the seed of this run: BROKER_TEST_SEED to repeat one, or a
// new one.
func randomSeed(t *testing.T) uint64 {
	text := os.Getenv("BROKER_TEST_SEED")
	if text == "" {
		return rand.Uint64()
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("BROKER_TEST_SEED: %v", err)
	}
	return seed
}

// conversationSteps is the length of a random conversation.
const conversationSteps = 120

// playRandom plays random conversations for about budget and compares them
// with redis-server step by step. It returns how many steps were compared.
func playRandom(t *testing.T, other *harness.Target, proto int, budget time.Duration, adapt func(string, []byte) []byte) int {
	t.Helper()
	redis := harness.StartRedis(t)
	seed := randomSeed(t)
	steps := 0
	for start := time.Now(); time.Since(start) < budget; seed++ {
		playSeed(t, redis, other, seed, proto, adapt)
		steps += conversationSteps
	}
	return steps
}

// playSeed plays the conversation of one seed.
func playSeed(t *testing.T, redis, other *harness.Target, seed uint64, proto int, adapt func(string, []byte) []byte) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, uint64(proto)))
	left, right := harness.NewPlayer(redis, proto), harness.NewPlayer(other, proto)
	defer left.Close()
	defer right.Close()
	var told []string
	for range conversationSteps {
		step := randomStep(r)
		told = append(told, step.Source)
		want, err := left.Play(step)
		if err != nil {
			t.Fatalf("seed %d, step %d: %s\n%s: %v", seed, len(told), step.Source, redis.Name, err)
		}
		got, err := right.Play(step)
		if err != nil {
			t.Fatalf("seed %d, step %d: %s\n%s: %v", seed, len(told), step.Source, other.Name, err)
		}
		if diff := differ(want, got, adapt); diff != "" {
			for _, line := range told {
				t.Log(line)
			}
			t.Fatalf("seed %d (repeat with BROKER_TEST_SEED=%d), step %d: %s\n%s",
				seed, seed, len(told), step.Source, diff)
		}
	}
}

// TestRandom_RedisAgreesWithItself shows that a random conversation has one
// outcome once it is normalised.
func TestRandom_RedisAgreesWithItself(t *testing.T) {
	for _, proto := range []int{2, 3} {
		t.Run(fmt.Sprintf("resp=%d", proto), func(t *testing.T) {
			n := playRandom(t, harness.StartRedis(t), proto, 300*time.Millisecond,
				func(_ string, b []byte) []byte { return b })
			t.Logf("%d steps", n)
		})
	}
}
