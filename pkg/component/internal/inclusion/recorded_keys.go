package inclusion

import (
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// withRecordedKeys returns the set with the keys that its objects have in the inventory, and those keys by the keys of
// the set. The key of an object whose type is not served has no default namespace. If the type was served when the
// entry was written, the key in the inventory has one. With the key of the set, the entry would look like the entry of
// an object that is not desired any more. If no key differs, the set itself is returned.
func (in Inputs) withRecordedKeys(set []manifests.Object) ([]manifests.Object, map[manifests.Key]manifests.Key) {
	recorded := in.recordedKeys(set)
	if len(recorded) == 0 {
		return set, nil
	}
	set = slices.Clone(set)
	for i := range set {
		set[i].Key = keyIn(recorded, set[i].Key)
		set[i].Settings.Graph = graphIn(recorded, set[i].Settings.Graph)
	}
	return set, recorded
}

// recordedKeys returns the keys of the inventory, by the keys of the set, for the objects whose keys differ. An object
// keeps its key if another object of the set has the key of the inventory.
func (in Inputs) recordedKeys(set []manifests.Object) map[manifests.Key]manifests.Key {
	recorded := map[manifests.Key]manifests.Key{}
	for _, o := range set {
		key := o.Key
		if o.Scope != manifests.ScopeUnknown || key.Namespace != "" {
			continue
		}
		if key.Namespace = in.Namespace; in.Recorded(key) {
			recorded[o.Key] = key
		}
	}
	if len(recorded) == 0 {
		return nil
	}
	taken := map[manifests.Key]bool{}
	for _, o := range set {
		taken[o.Key] = true
	}
	maps.DeleteFunc(recorded, func(_, key manifests.Key) bool { return taken[key] })
	return recorded
}

// graphIn returns the dependencies of an object with the keys of the inventory. DependsOn and List stay as the manifest
// has them, because messages and the inventory repeat them.
func graphIn(recorded map[manifests.Key]manifests.Key, g *manifests.GraphSettings) *manifests.GraphSettings {
	differs := func(key manifests.Key) bool { return keyIn(recorded, key) != key }
	if g == nil || !slices.ContainsFunc(g.Edges, differs) && !slices.ContainsFunc(g.Exporters, differs) {
		return g
	}
	changed := *g
	changed.Edges, changed.Exporters = keysIn(recorded, g.Edges), keysIn(recorded, g.Exporters)
	return &changed
}

// keysIn returns the keys of the inventory, in the order of keys.
func keysIn(recorded map[manifests.Key]manifests.Key, keys []manifests.Key) []manifests.Key {
	changed := make([]manifests.Key, 0, len(keys))
	for _, key := range keys {
		changed = append(changed, keyIn(recorded, key))
	}
	slices.SortFunc(changed, manifests.Key.Compare)
	return changed
}

// keyIn returns the key of the inventory for a key of the set.
func keyIn(recorded map[manifests.Key]manifests.Key, key manifests.Key) manifests.Key {
	if other, differs := recorded[key]; differs {
		return other
	}
	return key
}
