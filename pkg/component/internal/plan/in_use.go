package plan

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Kubernetes, and the controllers of some other types, do not delete an object while another object uses it: a
// finalizer holds it. If the user is kept, such an object would stay in deletion as long as the user exists. So it is
// released, too.

var (
	claimKind           = schema.GroupKind{Kind: "PersistentVolumeClaim"}
	volumeKind          = schema.GroupKind{Kind: "PersistentVolume"}
	attributesClassKind = schema.GroupKind{Group: "storage.k8s.io", Kind: "VolumeAttributesClass"}
	resourceClaimKind   = schema.GroupKind{Group: "resource.k8s.io", Kind: "ResourceClaim"}
	snapshotKind        = schema.GroupKind{Group: "snapshot.storage.k8s.io", Kind: "VolumeSnapshot"}
	snapshotContentKind = schema.GroupKind{Group: "snapshot.storage.k8s.io", Kind: "VolumeSnapshotContent"}
	gatewayKind         = schema.GroupKind{Group: "gateway.networking.k8s.io", Kind: "Gateway"}
	gatewayClassKind    = schema.GroupKind{Group: "gateway.networking.k8s.io", Kind: "GatewayClass"}
	statefulSetKind     = schema.GroupKind{Group: "apps", Kind: "StatefulSet"}
)

// usedBy contains the kinds that are held by a finalizer while an object of another kind uses them, with the field in
// which the user has the name of the used object. The used objects have no namespace.
var usedBy = []struct {
	used, user schema.GroupKind
	path       []string
}{
	{volumeKind, claimKind, []string{"spec", "volumeName"}},
	{attributesClassKind, claimKind, []string{"spec", "volumeAttributesClassName"}},
	{attributesClassKind, volumeKind, []string{"spec", "volumeAttributesClassName"}},
	{snapshotContentKind, snapshotKind, []string{"spec", "source", "volumeSnapshotContentName"}},
	{gatewayClassKind, gatewayKind, []string{"spec", "gatewayClassName"}},
}

// namesUser contains the kinds that are held by a finalizer, and that name their user themselves, in a field with
// namespace and name.
var namesUser = []struct {
	used, user schema.GroupKind
	path       []string
}{
	{volumeKind, claimKind, []string{"spec", "claimRef"}},
	{snapshotContentKind, snapshotKind, []string{"spec", "volumeSnapshotRef"}},
}

// podSpecs contains the paths of the pod specs of the kinds whose pods run until they are deleted. A finalizer holds
// the claims of a pod while the pod exists.
var podSpecs = map[schema.GroupKind][]string{
	{Kind: "Pod"}:                        {"spec"},
	{Kind: "ReplicationController"}:      {"spec", "template", "spec"},
	{Group: "apps", Kind: "DaemonSet"}:   {"spec", "template", "spec"},
	{Group: "apps", Kind: "Deployment"}:  {"spec", "template", "spec"},
	{Group: "apps", Kind: "ReplicaSet"}:  {"spec", "template", "spec"},
	{Group: "apps", Kind: "StatefulSet"}: {"spec", "template", "spec"},
}

// isHeld reports whether a finalizer holds an object while another object uses it.
func isHeld(key manifests.Key) bool {
	switch key.GroupKind() {
	case claimKind, volumeKind, attributesClassKind, resourceClaimKind, snapshotContentKind, gatewayClassKind:
		return true
	}
	return false
}

// inUse returns the objects that are held by a finalizer because an object uses them which is kept: a desired object
// that is released when it is no longer rendered or the component is deleted, or an object that is not in the set, such
// as the claims of a StatefulSet. self has the policies of objects whose manifests set none.
func inUse(desired []manifests.Object, self Self) []manifests.Key {
	if !slices.ContainsFunc(desired, func(o manifests.Object) bool { return isHeld(o.Key) }) {
		return nil
	}
	objects, users := map[manifests.Key]*manifests.Object{}, map[manifests.Key][]manifests.Key{}
	var kept []manifests.Key
	for i := range desired {
		o := &desired[i]
		objects[o.Key] = o
		if user := userOf(o); user.Name != "" {
			users[user] = append(users[user], o.Key)
		}
		if isKept(o, self) {
			kept = append(kept, o.Key)
		}
	}
	for user := range users {
		if objects[user] == nil {
			kept = append(kept, user)
		}
	}
	used := classesOfLeftClaims(desired)
	found := slices.Clone(used)
	for open := append(kept, used...); len(open) > 0; open = open[1:] {
		next := users[open[0]]
		if o := objects[open[0]]; o != nil {
			next = slices.Concat(next, usedObjects(o))
		}
		for _, key := range next {
			if objects[key] != nil && !slices.Contains(found, key) {
				found, open = append(found, key), append(open, key)
			}
		}
	}
	return found
}

// isKept reports whether a desired object is not deleted when it is no longer rendered or the component is deleted.
func isKept(o *manifests.Object, self Self) bool {
	fallback := DefaultDeletePolicy(cmp.Or(o.Settings.ReconcilePolicy, self.Reconcile), self.Delete)
	policy := RecordedDeletePolicy(o.Key, o.Settings.DeletePolicy, fallback)
	return policy != "" && policy != metav1alpha1.DeleteDelete
}

// userOf returns the object that uses a held object, if that names it. The name is empty otherwise.
func userOf(o *manifests.Object) manifests.Key {
	for _, row := range namesUser {
		if row.used == o.Key.GroupKind() {
			fields := mapAt(o, row.path...)
			namespace, _ := fields["namespace"].(string)
			name, _ := fields["name"].(string)
			return manifests.Key{Group: row.user.Group, Kind: row.user.Kind, Namespace: namespace, Name: name}
		}
	}
	return manifests.Key{}
}

// usedObjects returns the objects that an object names, and that a finalizer holds while the object exists.
func usedObjects(o *manifests.Object) []manifests.Key {
	var used []manifests.Key
	for _, row := range usedBy {
		if row.user != o.Key.GroupKind() {
			continue
		}
		last := len(row.path) - 1
		if name, _ := mapAt(o, row.path[:last]...)[row.path[last]].(string); name != "" {
			used = append(used, manifests.Key{Group: row.used.Group, Kind: row.used.Kind, Name: name})
		}
	}
	path, runsPods := podSpecs[o.Key.GroupKind()]
	if !runsPods {
		return used
	}
	pod := mapAt(o, path...)
	add := func(kind schema.GroupKind, name any) {
		if name, _ := name.(string); name != "" {
			used = append(used, manifests.Key{Group: kind.Group, Kind: kind.Kind, Namespace: o.Key.Namespace, Name: name})
		}
	}
	for _, volume := range mapsIn(pod["volumes"]) {
		claim, _ := volume["persistentVolumeClaim"].(map[string]any)
		add(claimKind, claim["claimName"])
	}
	for _, claim := range mapsIn(pod["resourceClaims"]) {
		add(resourceClaimKind, claim["resourceClaimName"])
	}
	return used
}

// classesOfLeftClaims returns the desired classes of the claims that a StatefulSet makes, and that stay after it.
func classesOfLeftClaims(desired []manifests.Object) []manifests.Key {
	classes := map[string]manifests.Key{}
	for i := range desired {
		if key := desired[i].Key; key.GroupKind() == attributesClassKind {
			classes[key.Name] = key
		}
	}
	if len(classes) == 0 {
		return nil
	}
	var left []manifests.Key
	for i := range desired {
		o := &desired[i]
		if o.Key.GroupKind() != statefulSetKind ||
			mapAt(o, "spec", "persistentVolumeClaimRetentionPolicy")["whenDeleted"] == "Delete" {
			continue
		}
		for _, template := range mapsIn(mapAt(o, "spec")["volumeClaimTemplates"]) {
			name, _, _ := unstructured.NestedString(template, "spec", "volumeAttributesClassName")
			if key, isDesired := classes[name]; isDesired && !slices.Contains(left, key) {
				left = append(left, key)
			}
		}
	}
	return left
}

// mapAt returns the map at a path of the manifest of a desired object, and nil if there is none.
func mapAt(o *manifests.Object, path ...string) map[string]any {
	whole, err := o.Whole()
	if err != nil || whole.Body == nil {
		return nil
	}
	value, _, _ := unstructured.NestedFieldNoCopy(whole.Body.Object, path...)
	fields, _ := value.(map[string]any)
	return fields
}

// mapsIn returns the maps in a list.
func mapsIn(value any) []map[string]any {
	list, _ := value.([]any)
	found := make([]map[string]any, 0, len(list))
	for _, item := range list {
		if fields, isMap := item.(map[string]any); isMap {
			found = append(found, fields)
		}
	}
	return found
}
