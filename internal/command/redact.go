package command

import "broker/internal/config"

// redacted stands for a secret wherever the arguments of a command are shown.
const redacted = "(redacted)"

// shownArgs returns the arguments of a command as other people may see them.
// It returns args itself when there is nothing to hide; else a copy of the
// outer slice.
func shownArgs(cmd *command, args [][]byte) [][]byte {
	out := args
	hide := func(from, to int) {
		for i := from; i < min(to, len(args)); i++ {
			if &out[0] == &args[0] {
				out = append([][]byte(nil), args...)
			}
			out[i] = []byte(redacted)
		}
	}
	switch cmd.fullName {
	case "auth":
		hide(1, len(args))
	case "hello":
		for i := 2; i < len(args); i++ {
			if is(args[i], "AUTH") {
				hide(i+1, i+3)
				i += 2
			} else if is(args[i], "SETNAME") {
				i++
			}
		}
	case "acl|setuser", "acl|deluser", "acl|getuser":
		hide(2, len(args))
	case "config|set":
		for i := 2; i+1 < len(args); i += 2 {
			if config.IsSecret(string(args[i])) {
				hide(i+1, i+2)
			}
		}
	}
	return out
}
