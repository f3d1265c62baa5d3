package lookup

import (
	"encoding/json"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/version"

	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

const (
	// maxAskedVersions is the maximum number of API versions that are stored, and maxVersionName the maximum length of
	// each, in bytes. If a rendering asked for more, every change of the capabilities leads to a rendering after a
	// restart.
	maxAskedVersions = 100
	maxVersionName   = 253
)

// Asked notes for which API versions the renderings of some inputs asked, and the answers. It is safe for concurrent
// use.
type Asked struct {
	version version.Info

	mu sync.Mutex
	// all is set if a rendering read all API versions.
	all     bool
	answers map[string]bool
}

// NoteVersions returns the capabilities for a generator, and what the generator asks of them.
func NoteVersions(c generator.Capabilities) (generator.Capabilities, *Asked) {
	served, a := c.APIVersions, &Asked{version: c.Version, answers: map[string]bool{}}
	c.APIVersions = served.OnAsk(func(version string) {
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

// recordedCapabilities are the capabilities of a rendering, as the record of the rendering contains them.
type recordedCapabilities struct {
	// Digest is the digest of all capabilities.
	Digest  string          `json:"digest"`
	Version version.Info    `json:"version"`
	Asked   map[string]bool `json:"asked,omitempty"`
}

// RecordCapabilities returns the text of the capabilities that the rendering asked for, with the answers. It is empty
// if they are not known, or too many.
func (l Lookups) RecordCapabilities() (string, error) {
	a := l.Asked
	if a == nil {
		return "", nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all || len(a.answers) > maxAskedVersions {
		return "", nil
	}
	for version := range a.answers {
		if len(version) > maxVersionName {
			return "", nil
		}
	}
	text, err := json.Marshal(recordedCapabilities{Digest: l.Served.Digest, Version: a.version, Asked: a.answers})
	return string(text), err
}

// recallCapabilities returns the capabilities of a text of RecordCapabilities. asked is nil if the text contains none.
func recallCapabilities(text string) (digest string, asked *Asked) {
	var recorded recordedCapabilities
	if json.Unmarshal([]byte(text), &recorded) != nil || recorded.Digest == "" {
		return "", nil
	}
	asked = &Asked{version: recorded.Version, answers: map[string]bool{}}
	maps.Copy(asked.answers, recorded.Asked)
	return recorded.Digest, asked
}
