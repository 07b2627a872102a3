package broker

import (
	"broker/internal/command"
	"broker/internal/config"
)

// Check reports what would keep Start from running with cfg, which must have
// passed Validate, as far as can be known without opening anything: it reads
// the files that cfg names.
func Check(cfg *config.Config) error {
	commands := command.New(command.Config{Databases: cfg.Databases})
	commands.Configure(runtime(cfg))
	if err := loadUsers(commands.Users(), cfg); err != nil {
		return err
	}
	if cfg.TLSPort == 0 {
		return nil
	}
	_, err := newTLSSnapshot(cfg)
	return err
}
