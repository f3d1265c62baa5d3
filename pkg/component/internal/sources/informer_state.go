package sources

import (
	"time"
)

// informerWatch is the state of the watches of an informer.
type informerWatch struct {
	parts []*informerPart
	// namespaces are the only namespaces that are watched. They are nil if all are watched, if the type is cluster-scoped,
	// or as long as its scope is not known.
	namespaces []string
	// synced is set when all parts were listed and are watched. failure is the last error of a part.
	synced  bool
	failure string
	since   time.Time
}

// judge sets synced and failure, and reports whether one of them changed.
func (w *informerWatch) judge() (news bool) {
	synced, failure := true, ""
	for _, p := range w.parts {
		if p.listed && p.watching {
			p.failure = ""
		}
		synced = synced && p.listed && p.watching
		if failure == "" {
			failure = p.failure
		}
	}
	news = synced && !w.synced || (failure == "") != (w.failure == "")
	switch {
	case failure == "":
		w.since = time.Time{}
	case w.failure == "":
		w.since = time.Now()
	}
	// Objects that were known stay known while the watch fails.
	w.synced, w.failure = w.synced || synced, failure
	return news
}
