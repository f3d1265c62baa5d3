//go:build long

package scaffold_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/scaffold"
)

func TestAProjectOfEachKindBuildsAndPassesItsTestsAndBringsItsSampleToReady(t *testing.T) {
	for _, generator := range scaffold.Generators {
		t.Run(string(generator), func(t *testing.T) {
			o := shop()
			o.Generator = generator
			works(t, write(t, scaffold.Request{Options: o}))
		})
	}
}
