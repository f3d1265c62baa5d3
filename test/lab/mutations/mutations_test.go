package main

import (
	"go/parser"
	"go/token"
	"regexp"
	"testing"
)

func TestMutationsFitTheCode(t *testing.T) {
	names := map[string]bool{}
	for _, m := range mutations() {
		t.Run(m.name, func(t *testing.T) {
			if names[m.name] {
				t.Error("two mutations have the same name")
			}
			names[m.name] = true
			path, content, err := m.apply("../../..")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := parser.ParseFile(token.NewFileSet(), path, content, 0); err != nil {
				t.Errorf("the mutated file is not valid Go code: %v", err)
			}
			if _, err := regexp.Compile(m.focus); err != nil || m.focus == "" {
				t.Errorf("focus %q: %v", m.focus, err)
			}
		})
	}
	if len(names) < 25 {
		t.Errorf("got %d mutations, want at least 25", len(names))
	}
}
