package imports

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEachPackageHasADocFile(t *testing.T) {
	wrong, err := withoutDocFile(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range wrong {
		t.Error(text)
	}
}

func TestWithoutDocFileFindsPackages(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"pkg/good/doc.go":          "// Package good has a comment.\npackage good\n",
		"pkg/good/good.go":         "package good\n",
		"pkg/good/good_test.go":    "// Package good has a second comment in a test.\npackage good\n",
		"pkg/good/testdata/a.go":   "package a\n",
		"pkg/.hidden/a.go":         "package a\n",
		"pkg/bare/bare.go":         "package bare\n",
		"pkg/bare/second.go":       "package bare\n",
		"pkg/empty/doc.go":         "package empty\n",
		"pkg/elsewhere/doc.go":     "// Package elsewhere has a comment.\npackage elsewhere\n",
		"pkg/elsewhere/other.go":   "// Package elsewhere has two comments.\npackage elsewhere\n",
		"cmd/shop/main.go":         "// Command shop is a program of the product.\npackage main\n",
		"test/lab/lab.go":          "// Package lab helps tests.\npackage lab\n",
		"test/lab/soak/main.go":    "// Command soak is a program for tests.\npackage main\n",
		"test/only/only_test.go":   "// Package only consists of tests.\npackage only\n",
		"examples/shop/main.go":    "package main\n",
		"bin/site/module/other.go": "package module\n",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := withoutDocFile(root)
	want := []string{
		"cmd/shop has no doc.go, which says what the package contains and which rule it enforces",
		"cmd/shop/main.go has a package comment, which belongs in doc.go",
		"pkg/bare has no doc.go, which says what the package contains and which rule it enforces",
		"pkg/elsewhere/other.go has a package comment, which belongs in doc.go",
		"pkg/empty/doc.go has no package comment",
		"test/lab has no doc.go, which says what the package contains and which rule it enforces",
		"test/lab/lab.go has a package comment, which belongs in doc.go",
	}
	if difference := cmp.Diff(want, got); err != nil || difference != "" {
		t.Error(err, difference)
	}
}
