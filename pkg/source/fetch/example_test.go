package fetch_test

import (
	"time"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/source/fetch"
)

// Archives for components that are SourceHolders, fetched off the workers.
func ExampleNewHTTP() {
	options := component.Options{
		Fetcher: fetch.NewHTTP(fetch.Options{Timeout: 10 * time.Second, ArchiveBytes: 1 << 20}),
	}
	_ = options
}
