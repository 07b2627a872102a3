package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		os.Exit(1)
	}
}

// options are what the flags say.
type options struct {
	broker  string        // path of the program to test, "" to build it
	source  string        // folder of the unpacked source package, "" to fetch it
	jobs    int           // units at the same time
	shards  int           // of each server
	limit   time.Duration // longest time a unit may take
	recheck bool          // run the skipped tests, too, one by one
	install bool          // install missing programs
	verbose bool
}

// recheckLimit is the longest time that a skipped test may take when it is run
// alone. Many of them wait in vain for what the broker does not do.
const recheckLimit = 15 * time.Second

// errDiffers says that the run came to its end and does not agree with the
// list.
var errDiffers = errors.New("the run and the list differ")

func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var opt options
	var units string
	flags := flag.NewFlagSet("suite", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&opt.broker, "broker", "", "`path` of the broker to test; empty builds it")
	flags.StringVar(&opt.source, "source", "", "`folder` of the unpacked source package; empty fetches it from Debian")
	flags.StringVar(&units, "units", "", "run only these units, separated by commas")
	flags.IntVar(&opt.jobs, "jobs", 2, "how many units run at the same time")
	// With more, what one connection sent may be executed after what another
	// sent later. Many tests count on Redis's one thread and do not wait.
	flags.IntVar(&opt.shards, "shards", 1, "how many shards each server has")
	flags.DurationVar(&opt.limit, "limit", 5*time.Minute, "longest time a unit may take")
	flags.BoolVar(&opt.recheck, "recheck", true, "run each skipped test alone and report those that pass")
	flags.BoolVar(&opt.install, "install", false, "install missing programs with apt-get, as root or with sudo -n")
	flags.BoolVar(&opt.verbose, "v", false, "print a line for each skipped test that is run, too")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s, known := suites()[flags.Arg(0)]
	if !known || flags.NArg() != 1 {
		return errors.New("usage: suite [flags] redis|valkey")
	}
	if opt.jobs < 1 {
		return errors.New("-jobs must be at least 1")
	}
	l, err := parseList(s.list)
	if err != nil {
		return fmt.Errorf("list of %s: %w", flags.Arg(0), err)
	}
	if units != "" {
		wanted := strings.Split(units, ",")
		l.units = slices.DeleteFunc(l.units, func(u *unit) bool { return !slices.Contains(wanted, u.name) })
		if len(l.units) != len(wanted) {
			return fmt.Errorf("not all of these units are in the list: %s", units)
		}
	}
	verdicts, err := s.run(ctx, l, opt, stdout)
	if err != nil {
		return err
	}
	if !report(stdout, s, l, verdicts) {
		return errDiffers
	}
	return nil
}
