package course

import (
	"fmt"
	"hash/crc32"
	"os"
	"sync"
	"time"
)

// patience is how long the program waits for a line that has to come.
const patience = 15 * time.Second

var (
	mu   sync.Mutex
	more = sync.NewCond(&mu) // signalled when a line was printed
	// printed counts the lines of each kind, which is a line's first word.
	// Guarded by mu.
	printed = map[string]int{}
)

// Emit prints one line of the given kind.
func Emit(kind string, words ...any) {
	mu.Lock()
	defer mu.Unlock()
	fmt.Println(append([]any{kind}, words...)...)
	printed[kind]++
	more.Broadcast()
}

// Payload renders a payload as its length and checksum.
func Payload[T string | []byte](p T) string {
	return fmt.Sprintf("%d/%08x", len(p), crc32.ChecksumIEEE([]byte(p)))
}

// Await waits until n lines of a kind were printed since the program began.
func Await(kind string, n int) {
	late := time.AfterFunc(patience, func() {
		mu.Lock()
		defer mu.Unlock()
		Fail("waited for %d lines of %s, there are %d", n, kind, printed[kind])
	})
	defer late.Stop()
	mu.Lock()
	defer mu.Unlock()
	for printed[kind] < n {
		more.Wait()
	}
}

// Fail ends the program.
func Fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(1)
}

// Check ends the program when err is not nil.
func Check(err error, action string) {
	if err != nil {
		Fail("%s: %v", action, err)
	}
}
