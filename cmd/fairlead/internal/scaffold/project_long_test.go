//go:build long

package scaffold_test

import (
	"os"
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

func TestAProjectOfAChartWithWebhooksBuildsAndPassesItsTestsAndBringsItsSampleToReady(t *testing.T) {
	o := shop()
	o.Generator, o.Given, o.Webhooks = scaffold.GeneratorHelm, true, true
	works(t, write(t, scaffold.Request{Options: o, Source: os.DirFS("testdata/chart")}))
}

func TestAProjectOfAKustomizationBuildsAndPassesItsTestsAndBringsItsSampleToReady(t *testing.T) {
	o := shop()
	o.Generator, o.Given = scaffold.GeneratorKustomize, true
	works(t, write(t, scaffold.Request{Options: o, Source: os.DirFS("testdata/kustomization")}))
}

func TestAProjectWithAllInterfacesBuildsAndPassesItsTestsAndBringsItsSampleToReady(t *testing.T) {
	o := shop()
	o.Interfaces = scaffold.Interfaces
	works(t, write(t, scaffold.Request{Options: o}))
}
