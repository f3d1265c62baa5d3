package lookup

import (
	"sync"

	"k8s.io/apimachinery/pkg/version"

	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// Asked records for which API versions the renderings of some inputs asked, and the answers. It is safe for concurrent
// use.
type Asked struct {
	version version.Info

	mu sync.Mutex
	// all is set if a rendering read all API versions.
	all     bool
	answers map[string]bool
}

// Record returns the capabilities for a generator, and the record of what it asks.
func Record(c generator.Capabilities) (generator.Capabilities, *Asked) {
	served, a := c.APIVersions, &Asked{version: c.Version, answers: map[string]bool{}}
	c.APIVersions = served.Recorded(func(version string) {
		answer := served.Has(version)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.all = a.all || version == ""
		a.answers[version] = answer
	})
	return c, a
}

// sameAnswers reports whether renderings for other capabilities would get the same answers. The answers to an Asked
// that is nil are not known, so the result is false.
func (a *Asked) sameAnswers(now discovery.Capabilities) bool {
	if a == nil || now.Version != a.version {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all {
		return false
	}
	for version, answer := range a.answers {
		if now.APIVersions.Has(version) != answer {
			return false
		}
	}
	return true
}
