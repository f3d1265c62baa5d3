package manifests

import "time"

// GraphSettings are the settings of an object that others depend on by a group, or that depends on other objects.
type GraphSettings struct {
	// DependsOn are the objects and groups that the object waits for, in the order of the annotation.
	DependsOn []Dependency
	// List is DependsOn in the form of the annotation, with one blank after each comma.
	List string
	// Group is the name of the group that the object belongs to; empty for none.
	Group string
	// Exporters are the objects whose exported values the holes of the object use, in the order of their keys. Normalise
	// sets them, and adds them to the DependsOn of an object that depends on others.
	Exporters []Key
	// Edges are the objects that must be applied and ready before the object is applied, in the order of their keys: the
	// objects of DependsOn and, for an object that depends on others, its namespace and the definition of its type if they
	// are in the set. Normalise sets them.
	Edges []Key
	// Timeout is the time after which the wait for DependsOn counts as a failure; zero means never.
	Timeout time.Duration
}

// Dependency is an element of the annotation depends-on: an object or a group.
type Dependency struct {
	// Key is the object; it is empty if the dependency is a group. Without a namespace in the annotation, the namespace
	// of Key is empty too.
	Key Key
	// Group is the name of the group, and empty if the dependency is an object.
	Group string
	// Optional is set if the dependency counts only if the object, or an object of the group, is in the set.
	Optional bool
}

// String returns the form of the annotation.
func (d Dependency) String() string {
	text := "@" + d.Group
	if d.Group == "" {
		text = d.Key.String()
	}
	if d.Optional {
		text += "?"
	}
	return text
}

// In returns the keys that the dependency of an object in the given namespace may have: if the dependency names no
// namespace, an object of this namespace, or a cluster-scoped object. In returns nil for a group.
func (d Dependency) In(namespace string) []Key {
	switch {
	case d.Group != "":
		return nil
	case d.Key.Namespace != "" || namespace == "":
		return []Key{d.Key}
	}
	own := d.Key
	own.Namespace = namespace
	return []Key{own, d.Key}
}

// InGraph reports whether an object depends on other objects. Such an object belongs to no wave.
func (o Object) InGraph() bool { return o.Settings.Graph != nil && len(o.Settings.Graph.DependsOn) > 0 }

// Edges returns the objects that must be applied and ready before the object is applied; see GraphSettings.Edges.
func (o Object) Edges() []Key {
	if o.Settings.Graph == nil {
		return nil
	}
	return o.Settings.Graph.Edges
}

// DependsOn returns the dependencies of an object in the form of the annotation, and an empty text if there are none.
func (o Object) DependsOn() string {
	if o.Settings.Graph == nil {
		return ""
	}
	return o.Settings.Graph.List
}

// DependencyGroup returns the name of the group that an object belongs to, and an empty text if it belongs to none.
func (o Object) DependencyGroup() string {
	if o.Settings.Graph == nil {
		return ""
	}
	return o.Settings.Graph.Group
}
