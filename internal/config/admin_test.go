package config

import "testing"

func TestAdmin_APortAloneIsOnTheLoopbackInterface(t *testing.T) {
	for text, want := range map[string]string{
		"":                 "",
		"9121":             "127.0.0.1:9121",
		"127.0.0.2:9121":   "127.0.0.2:9121",
		"127.0.0.1:0":      "127.0.0.1:0",
		"*:9121":           ":9121",
		"[::1]:9121":       "[::1]:9121",
		"admin.test:65535": "admin.test:65535",
	} {
		c, err := Load([]string{"--admin", text})
		if got := c.AdminAddr(); err != nil || got != want {
			t.Errorf("admin %q: %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{":9121", "0", "x", "127.0.0.1", "::1:9121", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:65536", "127.0.0.1:-1", "*:09", "65536", "+80"} {
		if c, err := Load([]string{"--admin", text}); err == nil {
			t.Errorf("admin %q is accepted as %q", text, c.AdminAddr())
		}
	}
	c := Default()
	if c.AdminAddr() != "" {
		t.Errorf("the default opens %q", c.AdminAddr())
	}
}
