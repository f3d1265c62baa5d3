package main

import (
	"flag"
	"testing"

	"github.com/fairlead-io/fairlead/internal/reference"
)

func TestReferenceOfOperatorFlags(t *testing.T) {
	var rows [][]string
	newFlagSet(&options{}).VisitAll(func(f *flag.Flag) {
		rows = append(rows, []string{reference.Code("--" + f.Name), reference.Code(f.DefValue), reference.Prose(f.Usage)})
	})
	reference.Check(t, "fairlead-operator.md",
		"# Flags of fairlead-operator\n\n[Installing the operator](../install.md) explains how it is run.\n\n"+
			reference.Table([]string{"flag", "default", "meaning"}, rows))
}
