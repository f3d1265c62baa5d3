package manifests

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

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
	// of Key is empty too; see Resolve.
	Key Key
	// Group is the name of the group, and empty if the dependency is an object.
	Group string
	// Optional is set if the dependency counts only if the object, or an object of the group, is in the set.
	Optional bool
}

const (
	// groupMark is the first character of a dependency that is a group.
	groupMark = "@"
	// optionalMark is the last character of a dependency that is optional.
	optionalMark = "?"
	// MaxDependencies is the maximum number of elements of the annotation depends-on.
	MaxDependencies = 100
)

// String returns the form of the annotation.
func (d Dependency) String() string {
	text := groupMark + d.Group
	if d.Group == "" {
		text = d.Key.String()
	}
	if d.Optional {
		text += optionalMark
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

// ParseDependencies parses the annotation depends-on: objects in the form of Key.String and groups in the form @group,
// separated by commas. A question mark after an element makes it optional. The error names the position of the first
// invalid element, in characters from 1.
func ParseDependencies(text string) ([]Dependency, error) {
	var found []Dependency
	position := 1
	for element := range strings.SplitSeq(text, listSeparator) {
		d, err := parseDependency(strings.TrimSpace(element))
		if err != nil {
			blank := len(element) - len(strings.TrimLeft(element, " \t\r\n"))
			return nil, fmt.Errorf("at character %d: %w", position+blank, err)
		}
		found = append(found, d)
		position += len([]rune(element)) + len(listSeparator)
	}
	return found, nil
}

func parseDependency(text string) (Dependency, error) {
	if text == "" {
		return Dependency{}, errors.New("an element is empty; want an object such as StatefulSet.apps db, or a group such " +
			"as @schema")
	}
	name, optional := strings.CutSuffix(text, optionalMark)
	name = strings.TrimSpace(name)
	if group, isGroup := strings.CutPrefix(name, groupMark); isGroup {
		if err := checkGroupName(group); err != nil {
			return Dependency{}, err
		}
		return Dependency{Group: group, Optional: optional}, nil
	}
	key, ok := ParseKey(strings.Join(strings.Fields(name), " "))
	if !ok || strings.Contains(key.Kind, "/") {
		return Dependency{}, fmt.Errorf("%q is neither an object, such as StatefulSet.apps db or Job.batch shop/migrate, "+
			"nor a group, such as @schema; an object is written as kind.group, a space, and its name", text)
	}
	return Dependency{Key: key, Optional: optional}, nil
}

// checkGroupName returns an error if a name cannot be the name of a group.
func checkGroupName(name string) error {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return fmt.Errorf("%q is not the name of a group: want lower case letters, digits, '-' and '.', such as schema", name)
	}
	return nil
}

// graph parses the settings of the graph. It returns nil if there are none.
func (p *settingsParser) graph() *GraphSettings {
	list, depends := p.value(AnnotationDependsOn)
	group, grouped := p.value(AnnotationDependsOnGroup)
	timeout := p.duration(AnnotationDependsOnTimeout)
	if !depends && !grouped && timeout == nil {
		return nil
	}
	g := &GraphSettings{Group: group}
	if grouped {
		if err := checkGroupName(group); err != nil {
			p.fail(AnnotationDependsOnGroup, "%w", err)
		}
	}
	if !depends {
		if timeout != nil {
			p.fail(AnnotationDependsOnTimeout, "has no effect without %s; remove it", AnnotationDependsOn)
		}
		return g
	}
	if count := strings.Count(list, listSeparator) + 1; count > MaxDependencies {
		p.fail(AnnotationDependsOn, "it has %d elements, more than %d; put the objects into a group, and name the group",
			count, MaxDependencies)
		return g
	}
	var err error
	if g.DependsOn, err = ParseDependencies(list); err != nil {
		p.fail(AnnotationDependsOn, "%w", err)
	}
	g.List = JoinDependencies(g.DependsOn)
	if timeout != nil {
		g.Timeout = *timeout
	}
	p.refuseOrders()
	return g
}

// contradictory are the settings that place an object into waves.
var contradictory = []string{
	AnnotationOrder, AnnotationApplyOrder, AnnotationPurgeOrder, AnnotationDeleteOrder, AnnotationPhase,
	AnnotationPhaseOrder,
}

// refuseOrders adds an error if an object that depends on others also has settings for waves. Such an object is applied
// when its dependencies are ready, and belongs to no wave.
func (p *settingsParser) refuseOrders() {
	var names []string
	for name := range slices.Values(contradictory) {
		if _, set := p.annotations[p.prefix+"/"+name]; set {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		p.fail(AnnotationDependsOn, "contradicts %s, because an object that depends on others belongs to no wave; "+
			"remove one of them", strings.Join(names, ", "))
	}
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

// JoinDependencies returns dependencies in the form of the annotation.
func JoinDependencies(dependencies []Dependency) string {
	texts := make([]string, 0, len(dependencies))
	for _, d := range dependencies {
		texts = append(texts, d.String())
	}
	return strings.Join(texts, listSeparator+" ")
}
