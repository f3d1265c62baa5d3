package manifests

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Owner identifies a component across clusters and reconcilers. It does not include the UID: a component that is
// restored from a backup still owns its dependents.
type Owner struct {
	// Cluster is the UID of the namespace kube-system in the cluster of the component.
	Cluster string
	// Reconciler is the name of the reconciler.
	Reconciler string
	// Group, Kind, Namespace and Name identify the component.
	Group, Kind, Namespace, Name string
}

// String returns the readable form, which is the value of the owner-id annotation.
func (o Owner) String() string {
	return strings.Join([]string{o.Cluster, o.Reconciler, o.Group, o.Kind, o.Namespace, o.Name}, "/")
}

// Component returns the key of the component.
func (o Owner) Component() Key {
	return Key{Group: o.Group, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}

// ParseOwner parses the output of String. It returns false for any other text, such as an annotation that another tool
// wrote.
func ParseOwner(text string) (Owner, bool) {
	parts := strings.Split(text, "/")
	if len(parts) != 6 || slices.Contains([]string{parts[1], parts[3], parts[5]}, "") {
		return Owner{}, false
	}
	return Owner{
		Cluster:    parts[0],
		Reconciler: parts[1],
		Group:      parts[2],
		Kind:       parts[3],
		Namespace:  parts[4],
		Name:       parts[5],
	}, true
}

// ID returns a hash of the readable form, which is the value of the owner-id label.
func (o Owner) ID() string {
	return hashOwner(o.String())
}

// ownerID matches an owner id.
var ownerID = regexp.MustCompile(`^[0-9a-f]{40}$`)

func hashOwner(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:20])
}

// OwnerOf returns the owner of a live object: the id from the owner-id label, and the readable form from the owner-id
// annotation. The label of the given reconciler takes precedence over the labels of other reconcilers. If the object
// has no such label, OwnerOf returns the argument controller (the controller among the owner references) as both
// results. It returns empty strings if the object has no owner. The name is empty if the annotation is missing: then the
// label of another reconciler counts only if its value is an owner id, because it may have another purpose.
func OwnerOf(labels, annotations map[string]string, reconciler, controller string) (id, name string) {
	if id, ok := labels[reconciler+"/"+LabelOwnerID]; ok {
		if name := annotations[reconciler+"/"+AnnotationOwnerID]; name != "" && hashOwner(name) != id {
			// The label does not match the annotation, so one of them was edited. It is unknown which of them is right,
			// so the object is treated as an object without owner.
			return "", ""
		}
		return id, annotations[reconciler+"/"+AnnotationOwnerID]
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		prefix, ok := strings.CutSuffix(key, "/"+LabelOwnerID)
		if name := annotations[prefix+"/"+AnnotationOwnerID]; ok && (name != "" || ownerID.MatchString(labels[key])) {
			return labels[key], name
		}
	}
	return controller, controller
}

// CopyOf returns the dependent of which an object is a copy: the one that the annotation object names, if this is not
// the object itself. A copy has another kind, namespace or name. The groups are not compared, because the API server
// serves some objects in two groups. CopyOf returns false for an object without the annotation, such as a dependent
// that an earlier version of the reconciler wrote, and for one whose annotation is no key.
func CopyOf(key Key, annotations map[string]string, reconciler string) (Key, bool) {
	text := annotations[reconciler+"/"+AnnotationObject]
	if text == "" || text == key.String() {
		return Key{}, false
	}
	named, ok := ParseKey(text)
	if !ok || named.Kind == key.Kind && named.Namespace == key.Namespace && named.Name == key.Name {
		return Key{}, false
	}
	return named, true
}

// ReleasedBy returns the id of the component that released an object, from the annotation released-by. It returns an
// empty string if no component of the reconciler released the object.
func ReleasedBy(annotations map[string]string, reconciler string) string {
	name := annotations[reconciler+"/"+AnnotationReleasedBy]
	if _, ok := ParseOwner(name); !ok {
		return ""
	}
	return hashOwner(name)
}
