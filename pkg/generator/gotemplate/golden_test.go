package gotemplate_test

import (
	"fmt"
	"io/fs"
	"testing"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/generatortest"
	"github.com/fairlead-io/fairlead/pkg/generator/gotemplate"
)

var options = gotemplate.Options{}

func TestGolden(t *testing.T) {
	generatortest.Golden(t, "testdata/golden", func(source fs.FS) (generator.Generator, error) {
		return gotemplate.New(source, options)
	})
}

// TestGoldenFromTheRequest checks that a source in the request renders to the same objects as a source that is passed
// to New.
func TestGoldenFromTheRequest(t *testing.T) {
	shared, err := gotemplate.New(nil, options)
	if err != nil {
		t.Fatal(err)
	}
	generatortest.Golden(t, "testdata/golden", func(source fs.FS) (generator.Generator, error) {
		return generatortest.WithSource(shared, source, fmt.Sprint(source)), nil
	})
}
