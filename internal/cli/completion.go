package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"broker/internal/config"
)

// completion is the tool completion: it prints a script that completes the
// program's command line in a shell.
func completion(p *Process) error {
	if len(p.Args) != 1 {
		return errors.New("which shell? bash or zsh")
	}
	script := bashCompletion()
	switch p.Args[0] {
	case "bash":
	case "zsh":
		script = "#compdef broker\nautoload -U +X bashcompinit && bashcompinit\n" + script
	default:
		return fmt.Errorf("%q is not known, only bash and zsh are", p.Args[0])
	}
	_, err := io.WriteString(p.Stdout, script)
	return err
}

// parameterFlags returns the flags of the broker itself.
func parameterFlags() []string {
	c := config.Default()
	flags := []string{"--help", "--version"}
	for _, p := range c.Get("*") {
		flags = append(flags, "--"+p.Name)
	}
	return flags
}

// toolFlags returns the flags of a tool, as they are written.
func (t *Tool) toolFlags() []string {
	var flags []string
	if set := t.flagSet(); set != nil {
		set.VisitAll(func(f *flag.Flag) { flags = append(flags, dashes(f.Name)+f.Name) })
	}
	return flags
}

// bashCompletion returns the script. After a subcommand it offers its flags,
// after nothing the subcommands, the parameters and files.
func bashCompletion() string {
	var b strings.Builder
	var names []string
	for _, t := range tools() {
		names = append(names, t.name)
	}
	own := strings.Join(parameterFlags(), " ")
	b.WriteString("_broker() {\n\tlocal word=${COMP_WORDS[COMP_CWORD]} words= files=\n\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n")
	fmt.Fprintf(&b, "\t\twords='%s %s %s' files=1\n\telse\n\t\tcase ${COMP_WORDS[1]} in\n", Serve, strings.Join(names, " "), own)
	for _, t := range tools() {
		switch t.name {
		case "check":
			continue // takes what the broker takes
		case "help":
			fmt.Fprintf(&b, "\t\t%s) words='%s' ;;\n", t.name, strings.Join(names, " "))
		case "completion":
			fmt.Fprintf(&b, "\t\t%s) words='bash zsh' ;;\n", t.name)
		default:
			fmt.Fprintf(&b, "\t\t%s) words='%s' ;;\n", t.name, strings.Join(t.toolFlags(), " "))
		}
	}
	fmt.Fprintf(&b, "\t\t*) words='%s' files=1 ;;\n\t\tesac\n\tfi\n", own)
	b.WriteString("\tCOMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n")
	b.WriteString("\tif [ -n \"$files\" ] && [ \"${word#-}\" = \"$word\" ]; then\n\t\tCOMPREPLY+=($(compgen -f -- \"$word\"))\n\tfi\n}\ncomplete -F _broker broker\n")
	return b.String()
}
