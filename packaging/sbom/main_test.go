package main

import (
	"bytes"
	"encoding/json"
	"runtime/debug"
	"strings"
	"testing"
)

func TestWrite_NamesEveryModule(t *testing.T) {
	info := &debug.BuildInfo{
		GoVersion: "go1.26.8",
		Main:      debug.Module{Path: "broker", Version: "(devel)"},
		Deps: []*debug.Module{
			{Path: "example.org/a", Version: "v1.0.0"},
			{Path: "example.org/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/c", Version: "v2.0.0"}},
		},
		Settings: []debug.BuildSetting{{Key: "-trimpath", Value: "true"}},
	}
	var text, again bytes.Buffer
	if err := write(&text, info, "1.2.3"); err != nil {
		t.Fatal(err)
	}
	write(&again, info, "1.2.3")
	if text.String() != again.String() {
		t.Error("two bills of one program differ")
	}
	var b bill
	d := json.NewDecoder(&text)
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		t.Fatal(err)
	}
	if b.Format != "CycloneDX" || b.SpecVersion != "1.5" || b.Metadata.Component.PURL != "pkg:golang/broker@1.2.3" {
		t.Errorf("%+v", b)
	}
	var purls []string
	for _, c := range b.Components {
		purls = append(purls, c.PURL)
	}
	want := "pkg:golang/std@go1.26.8 pkg:golang/example.org/a@v1.0.0 pkg:golang/example.org/c@v2.0.0"
	if got := strings.Join(purls, " "); got != want {
		t.Errorf("components %s, want %s", got, want)
	}
	if got := strings.Join(b.Dependencies[0].DependsOn, " "); got != want {
		t.Errorf("dependencies %s, want %s", got, want)
	}
	if p := b.Metadata.Properties; len(p) != 1 || p[0] != (property{"go:build:-trimpath", "true"}) {
		t.Errorf("properties %+v", p)
	}
}
