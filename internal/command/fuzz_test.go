package command

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"broker/shard"
)

// FuzzHandle sends two arbitrary commands, words separated by 0xfe and
// commands by 0xff, and RESET: no command may panic, and every reply up to
// RESET's or to the end of the connection is well formed.
func FuzzHandle(f *testing.F) {
	for _, c := range newTable().rows {
		words := strings.ReplaceAll(c.fullName, "|", "\xfe")
		f.Add([]byte(words))
		f.Add([]byte(words + "\xfea"))
		f.Add([]byte("HELLO\xfe3\xff" + words + "\xfea\xfeb"))
		f.Add([]byte("subscribe\xfea\xff" + words))
	}
	for _, s := range []string{
		"HELLO\xfe3\xfeAUTH\xfedefault\xfe\xfeSETNAME\xfen", "HELLO\xfe2\xfeAUTH\xfe\xfe", "CLIENT\xfeLIST\xfeID\xfe1\xfe-1",
		"CLIENT\xfeLIST\xfeTYPE\xfepubsub", "COMMAND\xfeLIST\xfeFILTERBY\xfePATTERN\xfe[", "PUBSUB\xfeCHANNELS\xfe[^\\",
		"CONFIG\xfeGET\xfe*\xfe[", "INFO\xfeall\xfe\x00", "\xff\xfe", "POST\xfe/", "host:", "SELECT\xfe-9223372036854775808",
		"CLIENT\xfeKILL\xfeTYPE\xfenormal\xfeSKIPME\xfeno", "CLIENT\xfeKILL\xfepipe", "CLIENT\xfeKILL\xfeMAXAGE\xfe9223372036854775807\xfeADDR\xfe",
		"CLIENT\xfeTRACKING\xfeON\xfeBCAST\xfePREFIX\xfea\xffCLIENT\xfeTRACKING\xfeON\xfeBCAST\xfePREFIX\xfeab", "CLIENT\xfeTRACKING\xfeON\xfeREDIRECT\xfe1",
		"EVAL\xfe" + publishScript + "\xfe1\xfek\xfep\xfea\xfea", "COMMAND\xfeGETKEYS\xfeeval\xfex\xfe9223372036854775807\xfea",
		"COMMAND\xfeGETKEYSANDFLAGS\xfemget\xfea", "XRANGE\xfes\xfe(1-1\xfe(+", "SCAN\xfe0\xfeCOUNT\xfe1\xfeMATCH", "CONFIG\xfeRESETSTAT\xffINFO",
		"DEBUG\xfePROTOCOL\xfeset\xffDEBUG\xfeSLEEP\xfe-1e999", "SLOWLOG\xfeGET\xfe-1", "LATENCY\xfeHISTOGRAM\xfeconfig\xfex",
		"ACL\xfeSETUSER\xfeu\xfeon\xfenopass\xfe&a\xfe(+get\xfe~x)\xffAUTH\xfeu\xfex", "ACL\xfeSETUSER\xfedefault\xfereset\xffPING",
		"ACL\xfeDRYRUN\xfedefault\xfePUBLISH\xfea\xfeb", "ACL\xfeLOG\xfe-1", "ACL\xfeGENPASS\xfe4096", "ACL\xfeDELUSER\xfeu\xfe\x00",
		"AUTH\xfenobody\xfex\xffACL\xfeLOG", "SUBSCRIBE\xfea\xffACL\xfeSETUSER\xfedefault\xferesetchannels",
		"x\r\n\xfe\r\n-ERR forged\r\n",
	} {
		f.Add([]byte(s))
	}
	srv := startServerWith(f, 2, func(d *Dispatcher, s *shard.Session, args [][]byte) {
		d.Handle(s, args)
		if is(args[0], "SHUTDOWN") && s.Suspended() {
			s.CloseNow(shard.CloseByShutdown) // as the end of the broker would
		}
	}, func(cfg *Config) { cfg.DebugCommand = DebugEverybody })
	f.Fuzz(func(t *testing.T, data []byte) {
		var request strings.Builder
		for _, command := range bytes.SplitN(data, []byte{0xff}, 2) {
			var words []string
			for _, w := range bytes.Split(command, []byte{0xfe}) {
				words = append(words, string(w))
			}
			request.WriteString(encode(words...))
		}
		request.WriteString(encode("RESET"))
		// What an input did to the default user, and that it guessed passwords,
		// is not for the next one.
		if _, err := srv.d.Users().SetUser("default", []string{"on", "nopass", "+@all", "~*", "&*", "clearselectors"}); err != nil {
			t.Fatal(err)
		}
		srv.d.guesses.mu.Lock()
		clear(srv.d.guesses.from)
		srv.d.guesses.mu.Unlock()

		ours, theirs := net.Pipe()
		defer func() { _ = ours.Close() }()
		srv.group.Adopt(shard.Conn{Net: theirs})
		c := newClient(t, ours)
		go func() { _, _ = io.WriteString(ours, request.String()) }() // ends when the pipe is closed
		for {
			var reply strings.Builder
			err := readReply(c.r, &reply)
			if err == io.EOF && reply.Len() == 0 || reply.String() == "+RESET\r\n" {
				break
			}
			if err != nil {
				t.Fatalf("%q: reply %q: %v", data, reply.String(), err)
			}
		}
		var panics atomic.Int64
		srv.group.Each(func(l *shard.Loop) { panics.Add(l.Stats().Panics) })
		if n := panics.Load(); n > 0 {
			t.Fatalf("%q: %d panics", data, n)
		}
	})
}
