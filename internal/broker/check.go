package broker

import "broker/internal/config"

// Check reports what would keep Start from running with cfg, which must have
// passed Validate, as far as can be known without opening anything: it reads
// the files that cfg names.
func Check(cfg *config.Config) error {
	if cfg.TLSPort == 0 {
		return nil
	}
	_, err := newTLSSnapshot(cfg)
	return err
}
