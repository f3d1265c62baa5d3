package main

import (
	"fmt"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
)

func TestWhatLibrariesPrintIsLoggedWithoutWarningsAboutSources(t *testing.T) {
	var lines []string
	redirectLibraries(funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}))
	defer log.SetOutput(os.Stderr)
	log.Print("http: panic serving: a problem")
	log.Print("warning: destination for c.db is a table. Ignoring non-table value (s3cret)")
	log.Println("well-defined vars that were never replaced: UNUSED")
	if text := strings.Join(lines, "\n"); len(lines) != 1 || !strings.Contains(text,
		`"text"="http: panic serving: a problem"`) {
		t.Errorf("logged %q", text)
	}
}

func TestLibrariesHaveNoStandardError(t *testing.T) {
	before := os.Stderr
	defer func() { os.Stderr = before }()
	if stderr := withoutStderr(); stderr != before || os.Stderr == before {
		t.Error("the standard error is not kept from libraries")
	}
	if _, err := fmt.Fprintln(os.Stderr, "# Warning: 'commonLabels' is deprecated."); err != nil {
		t.Error(err)
	}
}
