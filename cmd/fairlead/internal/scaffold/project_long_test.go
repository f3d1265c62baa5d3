//go:build long

package scaffold_test

import (
	"io/fs"
	"os"
	"testing"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/scaffold"
)

// The short tests already cover the project with a generator in Go and the default options.
func TestAProjectOfEachKindBuildsAndPassesItsTestsAndBringsItsSampleToReady(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*scaffold.Options)
		source fs.FS
	}{
		{"go, with all interfaces", func(o *scaffold.Options) { o.Interfaces = scaffold.Interfaces }, nil},
		{"go, with a plural, a typed client and watches", func(o *scaffold.Options) {
			o.Kind, o.Resource, o.Client = "Sheep", "sheep", true
			o.Watched = []scaffold.Watched{
				{Version: "v1", Kind: "ConfigMap"},
				{Group: "apps", Version: "v1", Kind: "Deployment"},
			}
		}, nil},
		{"gotemplate", func(o *scaffold.Options) { o.Generator = scaffold.GeneratorGoTemplate }, nil},
		{"kustomize", func(o *scaffold.Options) { o.Generator = scaffold.GeneratorKustomize }, nil},
		{
			"a kustomization", func(o *scaffold.Options) { o.Generator = scaffold.GeneratorKustomize },
			os.DirFS("testdata/kustomization"),
		},
		{"go, with a handler of externals", func(o *scaffold.Options) { o.External = "Bucket" }, nil},
		{"helm", func(o *scaffold.Options) { o.Generator = scaffold.GeneratorHelm }, nil},
		{
			"a chart, with webhooks", func(o *scaffold.Options) { o.Generator, o.Webhooks = scaffold.GeneratorHelm, true },
			os.DirFS("testdata/chart"),
		},
		{
			"an ordinary chart", func(o *scaffold.Options) { o.Generator = scaffold.GeneratorHelm },
			os.DirFS("testdata/ordinary"),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := shop()
			test.change(&o)
			o.Given = test.source != nil
			works(t, write(t, scaffold.Request{Options: o, Source: test.source}))
		})
	}
}
