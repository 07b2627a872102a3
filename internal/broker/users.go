package broker

import (
	"errors"
	"fmt"

	"broker/internal/acl"
	"broker/internal/config"
)

// errUsersTwice is Redis's refusal to guess which of two lists is meant.
var errUsersTwice = errors.New("Configuring Redis with users defined in redis.conf and at the same setting an ACL file path is invalid. " +
	"This setup is very likely to lead to configuration errors and security holes, " +
	"please define either an ACL file or declare users directly in your redis.conf, but not both.")

// loadUsers gives users the rules that cfg, or the file it names, has for them
// when the broker starts. requirepass is in force before: what is said of the
// default user here overrides it.
func loadUsers(users *acl.Store, cfg *config.Config) error {
	switch {
	case cfg.ACLFile != "" && len(cfg.Users) > 0:
		return errUsersTwice
	case cfg.ACLFile != "":
		// Nobody is connected yet whom the changes could concern.
		if _, err := users.Load(cfg.ACLFile); err != nil {
			return fmt.Errorf("Aborting because of ACL errors: %w", err)
		}
	default:
		if err := users.SetConfigured(cfg.Users); err != nil {
			return fmt.Errorf("Aborting because of ACL errors: %w", err)
		}
	}
	return nil
}
