package cli

import (
	"bufio"
	"errors"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

func parse(text string) (value, error) {
	return readValue(bufio.NewReaderSize(strings.NewReader(text), 16))
}

func TestReadValue_EveryType(t *testing.T) {
	str := func(s string) value { return value{kind: '$', text: s} }
	for wire, want := range map[string]value{
		"+OK\r\n":                               {kind: '+', text: "OK"},
		"-ERR a b\r\n":                          {kind: '-', text: "ERR a b"},
		":-7\r\n":                               {kind: ':', text: "-7"},
		"$0\r\n\r\n":                            {kind: '$'},
		"$4\r\na\r\nb\r\n":                      {kind: '$', text: "a\r\nb"},
		"$-1\r\n":                               {kind: '$', null: true},
		"*-1\r\n":                               {kind: '*', null: true},
		"_\r\n":                                 {kind: '_', null: true},
		"#t\r\n":                                {kind: '#', text: "t"},
		",1.5\r\n":                              {kind: ',', text: "1.5"},
		"(123456789012345678901234567890\r\n":   {kind: '(', text: "123456789012345678901234567890"},
		"=7\r\ntxt:abc\r\n":                     {kind: '=', text: "abc"},
		"!5\r\nERR x\r\n":                       {kind: '!', text: "ERR x"},
		"*2\r\n$1\r\na\r\n*0\r\n":               {kind: '*', elems: []value{str("a"), {kind: '*'}}},
		"%1\r\n$1\r\nk\r\n$1\r\nv\r\n":          {kind: '%', elems: []value{str("k"), str("v")}},
		">1\r\n$1\r\na\r\n":                     {kind: '>', elems: []value{str("a")}},
		"~1\r\n$1\r\na\r\n":                     {kind: '~', elems: []value{str("a")}},
		"|1\r\n$1\r\nk\r\n$1\r\nv\r\n:1\r\n":    {kind: ':', text: "1"},
		"+" + strings.Repeat("x", 100) + "\r\n": {kind: '+', text: strings.Repeat("x", 100)},
	} {
		got, err := parse(wire)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v, want %+v", wire, got, err, want)
		}
	}
}

func TestReadValue_Refuses(t *testing.T) {
	for wire, want := range map[string]error{
		"":                                   io.EOF,
		"+OK":                                io.ErrUnexpectedEOF,
		"$3\r\nab":                           io.ErrUnexpectedEOF,
		"*2\r\n:1\r\n":                       io.ErrUnexpectedEOF,
		"$1\r\nabc":                          errNotRESP,
		"HTTP/1.1 400 Bad Request\r\n":       errNotRESP,
		"+OK\n":                              errNotRESP,
		"\r\n":                               errNotRESP,
		"$x\r\n":                             errNotRESP,
		"$-2\r\n":                            errNotRESP,
		"$536870913\r\n":                     errTooLarge,
		"$9223372036854775807\r\n":           errTooLarge,
		"*16777217\r\n":                      errTooLarge,
		"$99999999999999999999\r\n":          errNotRESP,
		strings.Repeat("*1\r\n", 40):         errTooLarge,
		"+" + strings.Repeat("x", 1<<17):     errTooLarge,
		"+" + strings.Repeat("x", 40) + "\n": errNotRESP,
	} {
		if _, err := parse(wire); !errors.Is(err, want) {
			t.Errorf("%.40q: %v, want %v", wire, err, want)
		}
	}
}

func TestReadValue_AnnouncementsAllocateNothing(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, wire := range []string{"$536870912\r\nabc", "*16777216\r\n:1\r\n", "%16777216\r\n"} {
		if _, err := parse(wire); err == nil {
			t.Errorf("%q was complete", wire)
		}
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
}

func FuzzReadValue(f *testing.F) {
	for _, seed := range []string{"+OK\r\n", "*2\r\n$1\r\na\r\n:1\r\n", "%1\r\n+a\r\n_\r\n", "|1\r\n+a\r\n_\r\n#t\r\n", "=5\r\ntxt:a\r\n", "$-1\r\n", "*1\r\n*1\r\n*-1\r\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := parse(text)
		// The same bytes one at a time.
		w, err2 := readValue(bufio.NewReader(iotest.OneByteReader(strings.NewReader(text))))
		if (err == nil) != (err2 == nil) || err == nil && !reflect.DeepEqual(v, w) {
			t.Errorf("%+v, %v, and %+v, %v from single bytes", v, err, w, err2)
		}
	})
}
