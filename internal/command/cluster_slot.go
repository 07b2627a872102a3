package command

import "bytes"

// lastSlot is the highest number of a slot.
const lastSlot = 16383

// slotOf returns the slot of a key or of a shard channel: the CRC16 of its
// part in braces, or of all where there is no such part or nothing in it.
func slotOf(name []byte) int {
	if open := bytes.IndexByte(name, '{'); open >= 0 {
		if n := bytes.IndexByte(name[open+1:], '}'); n > 0 {
			name = name[open+1 : open+1+n]
		}
	}
	return int(crc16(name) & lastSlot)
}

// crc16 is CRC-16/XMODEM, as the specification of Redis Cluster has it. It is
// computed bit by bit: where one name stands alone nobody asks for its slot.
func crc16(b []byte) uint16 {
	var crc uint16
	for _, c := range b {
		crc ^= uint16(c) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc
}

// A slotSet tells whether all names that it was given are in one slot.
type slotSet struct {
	first []byte // nil: none yet
	slot  int    // of first, once a second name was compared
	known bool
}

// add reports whether name is in the slot of those before.
func (s *slotSet) add(name []byte) bool {
	switch {
	case s.first == nil:
		s.first = name
		return true
	case bytes.Equal(s.first, name):
		return true
	case !s.known:
		s.slot, s.known = slotOf(s.first), true
	}
	return slotOf(name) == s.slot
}

// addAll adds the keys and shard channels of a command.
func (s *slotSet) addAll(cmd *command, args [][]byte) bool {
	if cmd.keys.first == 0 {
		return true
	}
	for _, name := range cmd.keys.find(args) {
		if !s.add(name) {
			return false
		}
	}
	return true
}

// crossesSlots reports whether a cluster cannot serve the command, or the
// transaction that EXEC is to run, as its names are in several slots. Such a
// transaction is over.
func (d *Dispatcher) crossesSlots(st *connState, cmd *command, args [][]byte) bool {
	if !d.cfg.Cluster {
		return false
	}
	var slots slotSet
	if cmd.name != "exec" || st == nil || st.tx == nil {
		return !slots.addAll(cmd, args)
	}
	for _, q := range st.tx.queue {
		if !slots.addAll(q.cmd, q.args) {
			return true
		}
	}
	return false
}
