package cli

import (
	"errors"
	"fmt"

	"broker/internal/config"
)

// check is the tool check. It takes the broker's own arguments.
func check(p *Process) error {
	sources := config.Sources{Args: p.Args, Env: p.Env, Stdin: p.Stdin}
	cfg, unused, err := sources.Load()
	switch {
	case errors.Is(err, config.ErrHelp):
		_, err := fmt.Fprint(p.Stdout, lookup("check").Help())
		return err
	case errors.Is(err, config.ErrVersion):
		_, err := fmt.Fprintf(p.Stdout, "broker %s\n", p.Version)
		return err
	case err != nil:
		fmt.Fprintf(p.Stdout, "refused: %s\n", oneLine(err))
		return errReported
	}
	for _, u := range unused {
		fmt.Fprintf(p.Stdout, "ignored: %s (%s)\n", u.Name, u.Where)
	}
	if p.Validate != nil {
		if err := p.Validate(&cfg); err != nil {
			fmt.Fprintf(p.Stdout, "refused: %s\n", oneLine(err))
			return errReported
		}
	}
	_, err = fmt.Fprintln(p.Stdout, "ok")
	return err
}
