package observe

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Body returns a copy of an object whose kind is kept whole, in the version that a viewer knows of it; nil where that has not arrived.
func (o *Observer) Body(viewer Viewer, key manifests.Key) *unstructured.Unstructured {
	o.mu.Lock()
	defer o.mu.Unlock()
	k := o.kinds[o.PlaceOf(key)][viewer.Name]
	if k == nil || k.reason != plan.WaitNone {
		return nil
	}
	record, body := k.records[key], k.bodies[key]
	if record == nil || body == nil || record.Presence != plan.Present || record.ResourceVersion != body.GetResourceVersion() {
		return nil
	}
	return body.DeepCopy()
}

// keep keeps the body of an object that was stored, where the kind is kept whole. The caller holds the lock.
func (k *kind) keep(key manifests.Key, s *seen) {
	if record := k.records[key]; s.body != nil && record != nil && record.ResourceVersion == s.ResourceVersion {
		k.bodies[key] = s.body
	}
}

// drop forgets an object. The caller holds the lock.
func (k *kind) drop(key manifests.Key) {
	if c, old := k.observer.awaited[key], k.records[key]; c != nil && old != nil {
		c.heldBy(old.Owner)
	}
	delete(k.records, key)
	delete(k.bodies, key)
	k.freed(key)
}
