package external

import (
	"crypto/sha256"
	"time"

	"k8s.io/utils/lru"
)

const (
	// maxFindings is the maximum number of remembered findings of a service.
	maxFindings = 1024
	// findingsFor is the time for which findings are remembered. They end, because the service may have changed.
	findingsFor = 10 * time.Minute
)

// findingsCache remembers the changes that a service reported as impossible, by applied and desired spec.
type findingsCache struct{ entries *lru.Cache }

type findingsEntry struct {
	immutable []string
	until     time.Time
}

func newFindingsCache() findingsCache { return findingsCache{lru.New(maxFindings)} }

func findingsKey(r Request) [sha256.Size]byte {
	applied, desired := sha256.Sum256(r.Applied), sha256.Sum256(r.Spec)
	return sha256.Sum256(append(applied[:], desired[:]...))
}

// get returns the changes for a request. It returns false if they are not known.
func (c findingsCache) get(r Request, now time.Time) ([]string, bool) {
	value, _ := c.entries.Get(findingsKey(r))
	entry, found := value.(findingsEntry)
	if !found || now.After(entry.until) {
		return nil, false
	}
	return entry.immutable, true
}

// set remembers the changes for a request.
func (c findingsCache) set(r Request, immutable []string, now time.Time) {
	c.entries.Add(findingsKey(r), findingsEntry{immutable: immutable, until: now.Add(findingsFor)})
}
