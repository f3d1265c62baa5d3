package observe

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// The answer to a delete of ours may be here before the watch tells how the object came to be and changed. An object that came back by such
// an event would be taken for one that exists.

// isDeleted says that an object is known to be gone, whatever the watch tells. The caller holds the lock.
func (k *kind) isDeleted(key manifests.Key, uid types.UID) bool {
	gone, ok := k.deleted[key]
	if ok && gone != uid {
		// The one of that name that came after it: the watch is past its end.
		delete(k.deleted, key)
	}
	return ok && gone == uid
}

// ended notes that the watch has told of the end of an object. The caller holds the lock.
func (k *kind) ended(key manifests.Key, uid types.UID) {
	if k.deleted[key] == uid {
		delete(k.deleted, key)
	}
}

// missed notes what a list does not name: what we deleted, and what we write and nobody has seen yet. Should that have existed, and be gone
// again, no event will tell. The caller holds the lock.
func (k *kind) missed(listed map[manifests.Key]bool, resourceVersion string) {
	for key := range k.deleted {
		if !listed[key] {
			delete(k.deleted, key)
		}
	}
	for key, w := range k.observer.writing {
		if k.observer.PlaceOf(key) == k.place && !listed[key] {
			w.removed = resourceVersion
		}
	}
}
