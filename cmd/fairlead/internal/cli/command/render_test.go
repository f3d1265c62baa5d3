package command

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/values"
)

func TestFilesOfValuesAreSeparatedByCommas(t *testing.T) {
	var options values.Options
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	AddValueFlags(flags, &options)
	if err := flags.Parse([]string{"-f", "a.yaml,b.yaml", "--values", "c.yaml", "--set", "l={1,2}"}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a.yaml", "b.yaml", "c.yaml"}; !slices.Equal(options.Files, want) {
		t.Errorf("got %v, want %v", options.Files, want)
	}
	if want := []string{"l={1,2}"}; !slices.Equal(options.Assigned.Plain, want) {
		t.Errorf("got %v, want %v", options.Assigned.Plain, want)
	}
}
