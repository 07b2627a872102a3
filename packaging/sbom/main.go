package main

import (
	"debug/buildinfo"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

func main() {
	version := flag.String("version", "", "version of the program")
	flag.Parse()
	if flag.NArg() != 1 || *version == "" {
		fmt.Fprintln(os.Stderr, "usage: sbom -version VERSION BINARY")
		os.Exit(2)
	}
	info, err := buildinfo.ReadFile(flag.Arg(0))
	if err == nil {
		err = write(os.Stdout, info, *version)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// A bill is a CycloneDX 1.5 document, as far as it is used here; see
// cyclonedx.org/docs/1.5/json.
type bill struct {
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component  component  `json:"component"`
	Properties []property `json:"properties"`
}

type component struct {
	Ref     string `json:"bom-ref"`
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// write prints the bill of a program. It holds no time and no serial number,
// so that the same program has the same bill.
func write(w io.Writer, info *debug.BuildInfo, version string) error {
	program := component{
		Type:    "application",
		Name:    info.Main.Path,
		Version: version,
		PURL:    purl(info.Main.Path, version),
	}
	program.Ref = program.PURL
	b := bill{Format: "CycloneDX", SpecVersion: "1.5", Version: 1, Metadata: metadata{Component: program}}
	needs := dependency{Ref: program.Ref, DependsOn: []string{}}
	// The standard library is linked in as the modules are.
	modules := append([]*debug.Module{{Path: "std", Version: info.GoVersion}}, info.Deps...)
	for _, m := range modules {
		if m.Replace != nil {
			m = m.Replace
		}
		c := component{Type: "library", Name: m.Path, Version: m.Version, PURL: purl(m.Path, m.Version)}
		c.Ref = c.PURL
		b.Components = append(b.Components, c)
		needs.DependsOn = append(needs.DependsOn, c.Ref)
	}
	b.Dependencies = []dependency{needs}
	for _, s := range info.Settings {
		b.Metadata.Properties = append(b.Metadata.Properties, property{"go:build:" + s.Key, s.Value})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(b)
}

// purl is a package URL; see github.com/package-url/purl-spec.
func purl(path, version string) string { return "pkg:golang/" + path + "@" + version }
