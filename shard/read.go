package shard

import (
	"broker/resp"
)

const (
	// firstInputBytes is the size of the buffer that keeps an incomplete
	// command.
	firstInputBytes = 1 << 10

	// maxReadBytes bounds one read of a session that is in the middle of a
	// large command.
	maxReadBytes = 256 << 10

	// pooledInputBytes is the largest input buffer that goes back to the pool.
	pooledInputBytes = 16 << 10

	maxPooledInputs = 256
)

// read reads a ready session once and runs its complete commands. A complete
// command is run from the loop's read buffer, without a copy; only an
// incomplete one moves to a buffer of the session's own.
func (l *Loop) read(s *Session) {
	switch {
	case s.state == lingering:
		l.discard(s)
		return
	case s.state != open || s.suspended || s.queued || l.draining:
		// Commands that were read earlier come first; goOn listens again.
		l.deafen(s)
		return
	}
	s.lastActive = l.now
	if s.in == nil {
		buf := l.readBuf
		if s.anonymous {
			buf = buf[:anonymousReadBytes]
		}
		n, err := l.driver.read(s, buf)
		l.stats.NetInputBytes += int64(n)
		if n > 0 {
			l.consume(s, l.readBuf[:n])
		}
		l.afterRead(s, err)
		return
	}
	in := s.in
	in.grow()
	free := in.buf[len(in.buf):cap(in.buf)]
	n, err := l.driver.read(s, free[:min(len(free), maxReadBytes)])
	l.stats.NetInputBytes += int64(n)
	if n > 0 {
		in.buf = in.buf[:len(in.buf)+n]
		l.consume(s, in.buf)
	}
	l.afterRead(s, err)
}

// grow makes room for at least one more byte, and for the rest of a large
// argument at the most: the buffer doubles with what has arrived, whatever
// length was announced.
func (in *input) grow() {
	if len(in.buf) < cap(in.buf) {
		return
	}
	missing := max(in.partial.Missing(len(in.buf)), firstInputBytes)
	size := len(in.buf) + min(missing, max(len(in.buf), readBytes))
	buf := make([]byte, len(in.buf), size)
	copy(buf, in.buf)
	in.buf = buf
}

func (l *Loop) afterRead(s *Session, err error) {
	if err == nil || s.state != open {
		return
	}
	if err == errEOF {
		// The client may have shut down its sending side only: what it asked
		// before is still answered.
		l.finish(s, CloseByClient)
		l.deafen(s)
		return
	}
	l.doom(s, CloseByClient)
}

// consume runs the complete commands at the front of data, which begins at a
// command, and keeps the rest. data is either the loop's read buffer or
// s.in.buf.
func (l *Loop) consume(s *Session, data []byte) {
	if isClientHello(data) {
		l.refuseHello(s)
		return
	}
	partial := &l.partial
	if s.in != nil {
		partial = &s.in.partial
	}
	handle := l.group.cfg.Handle
	pos, commands := 0, 0
	for pos < len(data) {
		l.decoder.Limits.Unauthenticated = s.anonymous
		args, n, err := l.decoder.Decode(partial, data[pos:])
		if err != nil {
			l.protocolError(s, err)
			pos = len(data)
			break
		}
		if n == 0 {
			break
		}
		pos += n
		if len(args) == 0 {
			continue
		}
		handle(s, args)
		commands++
		if l.batch != nil && s.Subscribed() {
			// Its own message comes behind PUBLISH's reply and before the next
			// command's.
			l.handOver()
			l.takeInbox()
		}
		if s.state != open || s.suspended {
			break
		}
		if s.anonymous && s.out != nil && len(s.out.w.B) > anonymousTurnBytes {
			l.enqueue(s) // it is owed that much only while it reads
			break
		}
		if commands >= maxCommandsPerTurn || s.out != nil && len(s.out.w.B) > maxReplyBytesPerTurn {
			l.enqueue(s)
			break
		}
	}
	if commands > 0 && l.group.cfg.EndRun != nil {
		l.group.cfg.EndRun(l)
	}
	if s.state != open {
		l.partial.Reset()
		l.dropInput(s)
		return
	}
	l.keep(s, data, pos)
	if o := s.out; o != nil {
		o.cut()
		if pending := o.pending(); pending >= l.normalWatch || s.anonymous {
			l.checkOutput(s, pending)
		}
	}
}

// keep stores data[pos:] for later.
func (l *Loop) keep(s *Session, data []byte, pos int) {
	rest := data[pos:]
	switch {
	case s.in == nil && len(rest) == 0:
		return
	case s.in == nil:
		in := l.borrowInput()
		in.buf = append(in.buf, rest...)
		in.partial, l.partial = l.partial, resp.Partial{}
		s.in = in
	case len(rest) == 0 && s.in.partial.Empty():
		l.dropInput(s)
		return
	case pos > 0:
		s.in.buf = s.in.buf[:copy(s.in.buf, rest)]
	}
	if len(rest) > l.settings.QueryBufferBytes {
		l.stats.QueryLimitDisconnects++
		l.doom(s, CloseByQueryLimit)
	}
}

// protocolError answers what cannot be parsed and closes.
func (l *Loop) protocolError(s *Session, err error) {
	l.stats.ProtocolErrors++
	l.partial.Reset()
	s.Reply().Error("ERR " + err.Error())
	l.finish(s, CloseByProtocol)
}

// deafen stops reading s; listen goes on.
func (l *Loop) deafen(s *Session) {
	if !s.deaf {
		s.deaf = true
		l.driver.interest(s)
	}
}

func (l *Loop) listen(s *Session) {
	if s.deaf && !s.throttled && !l.draining {
		s.deaf = false
		l.driver.interest(s)
	}
}

func (l *Loop) borrowInput() *input {
	if n := len(l.inputs); n > 0 {
		in := l.inputs[n-1]
		l.inputs[n-1] = nil
		l.inputs = l.inputs[:n-1]
		return in
	}
	return &input{buf: make([]byte, 0, firstInputBytes)}
}

func (l *Loop) dropInput(s *Session) {
	in := s.in
	if in == nil {
		return
	}
	s.in = nil
	if cap(in.buf) > pooledInputBytes || len(l.inputs) >= maxPooledInputs {
		l.decoder.Release() // its last arguments may be views of the buffer
		return
	}
	in.buf = in.buf[:0]
	in.partial.Reset()
	l.inputs = append(l.inputs, in)
}
