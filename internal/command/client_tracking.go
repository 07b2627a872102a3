package command

import (
	"fmt"
	"slices"
	"strings"

	"broker/shard"
)

// Bounds of what one connection may have recorded by CLIENT TRACKING, which
// Redis does not have.
const (
	maxPrefixes    = 256
	maxPrefixBytes = 16 << 10
)

// The error texts of CLIENT TRACKING and CLIENT CACHING.
const (
	errRedirectTwice  = "ERR A client can only redirect to a single other client"
	errNoRedirect     = "ERR The client ID you want redirect to does not exist"
	errPrefixAlone    = "ERR PREFIX option requires BCAST mode to be enabled"
	errSwitchBCAST    = "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode."
	errBCASTWithOpt   = "ERR OPTIN and OPTOUT are not compatible with BCAST"
	errBothOpts       = "ERR You can't specify both OPTIN mode and OPTOUT mode"
	errSwitchOpt      = "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode."
	errCachingOff     = "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled"
	errCachingYes     = "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode."
	errCachingNo      = "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode."
	errTooManyTracked = "ERR too many prefixes, at most 256 of 16384 bytes in all are accepted here"
)

func clientTrackingCommand() *command {
	return &command{
		name: "tracking", arity: -3, flags: flagNoScript | flagLoading | flagStale, categories: categoryConnection,
		since: "6.0.0", complexity: "O(1), O(N) for N prefixes",
		summary: "Asks to be told when keys change that were read; there are no keys, so nothing is ever told.",
		args: []arg{
			{name: "status", kind: kindOneOf, args: []arg{
				{name: "on", kind: kindToken, token: "ON"},
				{name: "off", kind: kindToken, token: "OFF"},
			}},
			{name: "client-id", kind: kindInteger, token: "REDIRECT", optional: true},
			{name: "prefix", kind: kindString, token: "PREFIX", optional: true, multiple: true, multipleToken: true},
			{name: "bcast", kind: kindToken, token: "BCAST", optional: true},
			{name: "optin", kind: kindToken, token: "OPTIN", optional: true},
			{name: "optout", kind: kindToken, token: "OPTOUT", optional: true},
			{name: "noloop", kind: kindToken, token: "NOLOOP", optional: true},
		},
		help: []string{
			"TRACKING (ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> [...]]",
			"         [OPTIN] [OPTOUT] [NOLOOP]",
			"    Control server assisted client side caching.",
		},
		run: (*call).clientTracking,
	}
}

// A tracking is what CLIENT TRACKING ON has recorded for a session. It is not
// changed once it stands in the state; nil means that tracking is off.
//
// Nothing follows from it, because no key is ever read or changed, except what
// CLIENT TRACKINGINFO, CLIENT GETREDIR and CLIENT LIST say.
type tracking struct {
	broadcast, optIn, optOut, noLoop bool
	redirect                         int64    // a session's id; 0: none
	prefixes                         []string // sorted, none is a prefix of another
}

func trackingOf(a *shard.Attrs) *tracking {
	st, _ := a.State.(*connState)
	if st == nil {
		return nil
	}
	return st.tracking
}

func (c *call) tracking() *tracking {
	a := c.session.Peek()
	return trackingOf(&a)
}

// redirection returns what CLIENT GETREDIR does.
func (t *tracking) redirection() int64 {
	if t == nil {
		return -1
	}
	return t.redirect
}

// parse reads the options behind ON or OFF up to the first mistake, whose
// error it returns. redirected tells that a redirection was read before that:
// Redis checks first that it exists. Prefixes are in the order given.
func (t *tracking) parse(options [][]byte) (redirected bool, failure string) {
	size := 0
	for len(options) > 0 {
		used := 1
		switch o := options[0]; {
		case is(o, "BCAST"):
			t.broadcast = true
		case is(o, "OPTIN"):
			t.optIn = true
		case is(o, "OPTOUT"):
			t.optOut = true
		case is(o, "NOLOOP"):
			t.noLoop = true
		case is(o, "REDIRECT") && len(options) > 1:
			if redirected {
				return true, errRedirectTwice
			}
			id, ok := parseInt(options[1])
			if !ok {
				return false, errNotInteger
			}
			redirected, t.redirect = true, id
			used = 2
		case is(o, "PREFIX") && len(options) > 1:
			size += len(options[1])
			if len(t.prefixes) == maxPrefixes || size > maxPrefixBytes {
				return redirected, errTooManyTracked
			}
			t.prefixes = append(t.prefixes, string(options[1]))
			used = 2
		default:
			return redirected, errSyntax
		}
		options = options[used:]
	}
	return redirected, ""
}

// follow checks that t may take the place of old, which may be nil, and takes
// the prefixes of old over.
func (t *tracking) follow(old *tracking) (failure string) {
	switch {
	case !t.broadcast && len(t.prefixes) > 0:
		return errPrefixAlone
	case old != nil && old.broadcast != t.broadcast:
		return errSwitchBCAST
	case t.broadcast && (t.optIn || t.optOut):
		return errBCASTWithOpt
	case t.optIn && t.optOut:
		return errBothOpts
	case old != nil && (t.optIn && old.optOut || t.optOut && old.optIn):
		return errSwitchOpt
	case !t.broadcast:
		return ""
	}
	var kept []string
	if old != nil {
		kept = old.prefixes
	}
	if failure := overlap(t.prefixes, kept); failure != "" {
		return failure
	}
	if len(t.prefixes) == 0 {
		t.prefixes = []string{""} // all keys
	}
	t.prefixes = append(t.prefixes, kept...)
	slices.Sort(t.prefixes)
	t.prefixes = slices.Compact(t.prefixes)
	size := 0
	for _, p := range t.prefixes {
		size += len(p)
	}
	if len(t.prefixes) > maxPrefixes || size > maxPrefixBytes {
		return errTooManyTracked
	}
	return ""
}

// overlap returns the error for the first of fresh that begins one of kept or
// of the fresh ones behind it, or that begins so.
func overlap(fresh, kept []string) string {
	const text = "ERR Prefix '%s' overlaps with %s prefix '%s'. Prefixes for a single client must not overlap."
	check := func(p string, others []string, which string) string {
		for _, o := range others {
			if strings.HasPrefix(p, o) || strings.HasPrefix(o, p) {
				return fmt.Sprintf(text, echoWhole([]byte(p)), which, echoWhole([]byte(o)))
			}
		}
		return ""
	}
	for i, p := range fresh {
		if failure := check(p, kept, "an existing"); failure != "" {
			return failure
		}
		if failure := check(p, fresh[i+1:], "another provided"); failure != "" {
			return failure
		}
	}
	return ""
}

func (c *call) clientTracking() {
	on, off := is(c.args[2], "ON"), is(c.args[2], "OFF")
	t := &tracking{}
	redirected, failure := t.parse(c.args[3:])
	s, fail := c.session, c.failLater()
	apply := func() {
		a := s.Peek()
		switch {
		case failure != "":
			fail(failure)
			return
		case !on && !off:
			fail(errSyntax)
			return
		case on:
			if failure := t.follow(trackingOf(&a)); failure != "" {
				fail(failure)
				return
			}
			ensureState(s).tracking = t
		case trackingOf(&a) != nil:
			st := ensureState(s)
			st.tracking, st.caching = nil, false
			remark(s)
		}
		s.Reply().OK()
	}
	if !redirected {
		apply()
		return
	}
	shard.Gather(s, func(l *shard.Loop) bool {
		found := false
		l.Sessions(func(o *shard.Session) bool {
			found = int64(o.ID()) == t.redirect
			return !found
		})
		return found
	}, func(parts []bool) {
		if !slices.Contains(parts, true) {
			fail(errNoRedirect)
			return
		}
		apply()
	})
}

// clientCaching answers CLIENT CACHING. What it asks for concerns the keys of
// the next command only, so that CLIENT TRACKINGINFO alone shows it.
func (c *call) clientCaching() {
	t := c.tracking()
	yes := is(c.args[2], "YES")
	switch {
	case t == nil:
		c.fail(errCachingOff)
	case !yes && !is(c.args[2], "NO"):
		c.fail(errSyntax)
	case yes && !t.optIn:
		c.fail(errCachingYes)
	case !yes && !t.optOut:
		c.fail(errCachingNo)
	default:
		ensureState(c.session).caching = true
		remark(c.session)
		c.reply().OK()
	}
}

func (c *call) clientTrackingInfo() {
	t := c.tracking()
	caching := t != nil && stateOf(c.session).caching
	flags := []string{"off"}
	var prefixes []string
	if t != nil {
		prefixes = t.prefixes
		flags[0] = "on"
		for _, f := range []struct {
			set  bool
			name string
		}{{t.broadcast, "bcast"}, {t.optIn, "optin"}, {caching && t.optIn, "caching-yes"},
			{t.optOut, "optout"}, {caching && t.optOut, "caching-no"}, {t.noLoop, "noloop"}} {
			if f.set {
				flags = append(flags, f.name)
			}
		}
	}
	w := c.reply()
	w.Map(3)
	w.BulkString("flags")
	w.Set(len(flags))
	for _, f := range flags {
		w.BulkString(f)
	}
	w.BulkString("redirect")
	w.Int(t.redirection())
	w.BulkString("prefixes")
	writeStrings(w, prefixes)
}
