package main

import (
	"errors"
	"io"
	"log/slog"
	"os"

	"broker/internal/config"
)

// newLogger returns the logger that cfg asks for, and its level, which may be
// set while it is in use. Without a logfile it writes to stdout; lines that a
// logfile does not take go to stderr.
func newLogger(cfg *config.Config, stdout, stderr io.Writer) (*slog.Logger, *slog.LevelVar, error) {
	w := stdout
	if cfg.LogFile != "" {
		f := &logFile{path: cfg.LogFile, fallback: stderr}
		// Whether it can be written is better known now than at the first fault.
		if err := f.append(nil); err != nil {
			return nil, nil, err
		}
		w = f
	}
	level := new(slog.LevelVar)
	level.Set(cfg.LogLevel)
	options := &slog.HandlerOptions{Level: level}
	if cfg.LogFormat == config.LogJSON {
		return slog.New(slog.NewJSONHandler(w, options)), level, nil
	}
	return slog.New(slog.NewTextHandler(w, options)), level, nil
}

// A logFile appends to a file that it opens for each write, as Redis does:
// after log rotation has moved the file away the next line begins a new one,
// and nobody has to send a signal. Lines are rare, nothing is logged per
// message.
//
// The handler that writes to it makes one call for each line and no two at the
// same time.
type logFile struct {
	path     string
	fallback io.Writer // takes the lines that the file does not
}

func (f *logFile) Write(line []byte) (int, error) {
	if err := f.append(line); err != nil {
		return f.fallback.Write(line)
	}
	return len(line), nil
}

func (f *logFile) append(line []byte) error {
	file, err := os.OpenFile(f.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(line)
	return errors.Join(err, file.Close())
}
