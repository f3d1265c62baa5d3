package cluster

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRunNamesTheComponentThatDies(t *testing.T) {
	executable := filepath.Join(t.TempDir(), "component")
	script := "#!/bin/sh\necho no luck today >&2\nexit 3\n"
	if err := os.WriteFile(executable, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "cluster")
	var out bytes.Buffer
	err := Run(t.Context(), Config{Dir: dir, Executable: executable}, nil, &out)

	died, ok := errors.AsType[DiedError](err)
	if !ok {
		t.Fatalf("want a DiedError, got %v", err)
	}
	if died.State != "exit status 3" || !strings.Contains(err.Error(), died.Component) ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("want one line with the component and its end, got %q", err)
	}
	log, err := os.ReadFile(died.Log)
	if err != nil || string(log) != "no luck today\n" {
		t.Errorf("want the output of the component in its log, got %q, %v", log, err)
	}
	if out.Len() != 0 {
		t.Errorf("the cluster failed to start, but was reported as ready: %s", &out)
	}
}

func TestRunRefusesWhatCannotWork(t *testing.T) {
	for name, test := range map[string]struct {
		config Config
		want   string
	}{
		"nodes without controllers":  {Config{Nodes: 1, NoControllers: true}, "--nodes needs the controllers"},
		"a negative number of nodes": {Config{Nodes: -1}, "must not be negative"},
		"no executable":              {Config{Executable: "/nowhere/devcluster"}, "/nowhere/devcluster"},
	} {
		t.Run(name, func(t *testing.T) {
			test.config.Dir = t.TempDir()
			err := Run(t.Context(), test.config, nil, &bytes.Buffer{})
			if !errors.As(err, new(UsageError)) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("want a UsageError with %q, got %v", test.want, err)
			}
		})
	}
}
