package manifests

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Key identifies a dependent. It has no API version: an object that is served in two versions is one object.
type Key struct {
	Group, Kind, Namespace, Name string
}

// GroupKind returns the type of the object.
func (k Key) GroupKind() schema.GroupKind { return schema.GroupKind{Group: k.Group, Kind: k.Kind} }

// IsSecret reports whether the key is that of a Secret.
func (k Key) IsSecret() bool { return k.GroupKind() == schema.GroupKind{Kind: "Secret"} }

// String returns the key in readable form: Deployment.apps shop/web.
func (k Key) String() string {
	name := k.Name
	if k.Namespace != "" {
		name = k.Namespace + "/" + k.Name
	}
	return k.GroupKind().String() + " " + name
}

// ParseKey parses the output of String. It returns false if the text is not a key.
func ParseKey(text string) (Key, bool) {
	typed, name, found := strings.Cut(text, " ")
	gk := schema.ParseGroupKind(typed)
	key := Key{Group: gk.Group, Kind: gk.Kind, Name: name}
	if namespace, rest, namespaced := strings.Cut(name, "/"); namespaced {
		key.Namespace, key.Name = namespace, rest
	}
	// The comparison excludes other texts, such as a kind with a dot and without a group.
	valid := found && key.Kind != "" && key.Name != "" && !strings.ContainsAny(key.Name, " /")
	return key, valid && key.String() == text
}

// Compare orders keys by group, kind, namespace and name.
func (k Key) Compare(other Key) int {
	return cmp.Or(
		strings.Compare(k.Group, other.Group),
		strings.Compare(k.Kind, other.Kind),
		strings.Compare(k.Namespace, other.Namespace),
		strings.Compare(k.Name, other.Name),
	)
}
