package acl

import (
	"slices"
	"strings"
)

// setAllCommands allows or forbids everything, future commands included.
func (b *selectorBuilder) setAllCommands(allow bool) {
	var word uint64
	if allow {
		word = ^uint64(0)
	}
	for i := range b.commands {
		b.commands[i] = word
	}
	b.future, b.rules, b.firstArgs = allow, nil, nil
}

// applyCommand applies a rule about a command, a subcommand, a first argument
// or a category. name is in lower case and without the sign.
func (b *selectorBuilder) applyCommand(allow bool, name string) error {
	if category, is := strings.CutPrefix(name, "@"); is {
		set := categoryOf(category)
		if set == 0 {
			return errUnknownName
		}
		return b.keep(allow, name, func() {
			for number, in := range b.catalogue.sets {
				if in&set != 0 {
					b.setCommand(number, allow)
				}
			}
		})
	}
	number, known := b.catalogue.find(name)
	bar := strings.LastIndexByte(name, '|')
	if !allow || bar < 0 {
		if !known {
			return errUnknownName
		}
		return b.keep(allow, name, func() { b.setCommand(number, allow) })
	}
	command, arg := name[:bar], name[bar+1:]
	commandNumber, commandKnown := b.catalogue.find(command)
	switch {
	case !commandKnown:
		return errUnknownName
	case strings.Contains(command, "|"):
		return errFirstArg
	case arg == "":
		return errSyntax
	case known:
		return b.keep(allow, name, func() { b.setCommand(number, allow) })
	case b.catalogue.isContainer(command):
		return errUnknownName
	case hasSpaceOrNUL(arg) || strings.ContainsAny(arg, `"'()`):
		// What cannot be read back from where the rules are shown.
		return errSyntax
	case len(arg) > maxPatternBytes:
		return errLongPattern
	}
	return b.keep(allow, name, func() {
		if commandNumber >= 0 {
			b.addFirstArg(commandNumber, strings.Clone(arg))
		}
	})
}

// setCommand allows or forbids a command with its subcommands and forgets its
// first arguments. A number below 0 is a command of Redis's that is not here.
func (b *selectorBuilder) setCommand(number int, allow bool) {
	if number < 0 {
		return
	}
	b.setBit(number, allow)
	if b.firstArgs != nil {
		delete(b.firstArgs, number)
	}
	for _, sub := range b.catalogue.subs[b.catalogue.all[number].Name] {
		b.setBit(sub, allow)
	}
}

func (b *selectorBuilder) setBit(number int, allow bool) {
	bit := uint64(1) << (number % 64)
	if allow {
		b.commands[number/64] |= bit
	} else {
		b.commands[number/64] &^= bit
	}
}

func (b *selectorBuilder) addFirstArg(number int, arg string) {
	if b.firstArgs == nil {
		b.firstArgs = map[int][]string{}
	}
	if list := b.firstArgs[number]; !slices.Contains(list, arg) {
		// The list may be that of installed rules, whose array is not ours.
		b.firstArgs[number] = append(slices.Clip(list), arg)
	}
}

// keep remembers a rule as it is to be shown, in place of the rules that it
// overrides, and makes it effective. A rule about a command overrides those
// about its subcommands and first arguments; the order of the others matters.
func (b *selectorBuilder) keep(allow bool, name string, apply func()) error {
	kept := slices.DeleteFunc(b.rules, func(r commandRule) bool {
		rest, same := strings.CutPrefix(r.name, name)
		return same && (rest == "" || rest[0] == '|')
	})
	if len(kept) >= maxCommandRules {
		return errManyCommands
	}
	b.rules = append(kept, commandRule{strings.Clone(name), allow})
	apply()
	return nil
}
