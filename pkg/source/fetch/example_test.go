package fetch_test

import (
	"time"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/source/fetch"
)

// The fetcher downloads archives for components that implement SourceHolder, outside the reconciler's workers.
func ExampleNewHTTP() {
	options := component.Options{
		Fetcher: fetch.NewHTTP(fetch.Options{Timeout: 10 * time.Second, ArchiveBytes: 1 << 20}),
	}
	_ = options
}
