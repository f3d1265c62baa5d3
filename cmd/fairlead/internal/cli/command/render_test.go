package command

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/values"
)

func TestFilesOfValuesAreSeparatedByCommas(t *testing.T) {
	var sources values.Sources
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	AddValueFlags(flags, &sources)
	if err := flags.Parse([]string{"-f", "a.yaml,b.yaml", "--values", "c.yaml", "--set", "l={1,2}"}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a.yaml", "b.yaml", "c.yaml"}; !slices.Equal(sources.Files, want) {
		t.Errorf("got %v, want %v", sources.Files, want)
	}
	if want := []string{"l={1,2}"}; !slices.Equal(sources.Assigned.Plain, want) {
		t.Errorf("got %v, want %v", sources.Assigned.Plain, want)
	}
}
