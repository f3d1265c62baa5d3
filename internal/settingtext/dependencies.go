package settingtext

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const (
	// groupMark is the first character of a dependency that is a group.
	groupMark = "@"
	// optionalMark is the last character of a dependency that is optional.
	optionalMark = "?"
	// MaxDependencies is the maximum number of elements of the annotation depends-on.
	MaxDependencies = 100
)

// ParseDependencies parses the annotation depends-on: objects in the form of Key.String and groups in the form @group,
// separated by commas. A question mark after an element makes it optional. The error names the position of the first
// invalid element, in characters from 1.
func ParseDependencies(text string) ([]manifests.Dependency, error) {
	var found []manifests.Dependency
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

func parseDependency(text string) (manifests.Dependency, error) {
	if text == "" {
		return manifests.Dependency{}, errors.New("an element is empty; want an object such as " +
			"StatefulSet.apps db, or a group such as @schema")
	}
	name, optional := strings.CutSuffix(text, optionalMark)
	name = strings.TrimSpace(name)
	if group, isGroup := strings.CutPrefix(name, groupMark); isGroup {
		if err := checkGroupName(group); err != nil {
			return manifests.Dependency{}, err
		}
		return manifests.Dependency{Group: group, Optional: optional}, nil
	}
	key, ok := manifests.ParseKey(strings.Join(strings.Fields(name), " "))
	if !ok || strings.Contains(key.Kind, "/") {
		return manifests.Dependency{}, fmt.Errorf("%q is neither an object, such as StatefulSet.apps db or "+
			"Job.batch shop/migrate, nor a group, such as @schema; an object is written as kind.group, a space, and its name", text)
	}
	return manifests.Dependency{Key: key, Optional: optional}, nil
}

// checkGroupName returns an error if a name cannot be the name of a group.
func checkGroupName(name string) error {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return fmt.Errorf("%q is not the name of a group: want lower case letters, digits, '-' and '.', such as schema", name)
	}
	return nil
}

// graph parses the settings of the graph. It returns nil if there are none.
func (p *settingsParser) graph() *manifests.GraphSettings {
	list, depends := p.value(manifests.AnnotationDependsOn)
	group, grouped := p.value(manifests.AnnotationDependsOnGroup)
	timeout := p.duration(manifests.AnnotationDependsOnTimeout)
	if !depends && !grouped && timeout == nil {
		return nil
	}
	g := &manifests.GraphSettings{Group: group}
	if grouped {
		if err := checkGroupName(group); err != nil {
			p.fail(manifests.AnnotationDependsOnGroup, "%w", err)
		}
	}
	if !depends {
		if timeout != nil {
			p.fail(manifests.AnnotationDependsOnTimeout, "has no effect without %s; remove it", manifests.AnnotationDependsOn)
		}
		return g
	}
	if count := strings.Count(list, listSeparator) + 1; count > MaxDependencies {
		p.fail(manifests.AnnotationDependsOn, "it has %d elements, more than %d; put the objects into a group, "+
			"and name the group", count, MaxDependencies)
		return g
	}
	var err error
	if g.DependsOn, err = ParseDependencies(list); err != nil {
		p.fail(manifests.AnnotationDependsOn, "%w", err)
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
	manifests.AnnotationOrder, manifests.AnnotationApplyOrder, manifests.AnnotationPurgeOrder,
	manifests.AnnotationDeleteOrder, manifests.AnnotationPhase, manifests.AnnotationPhaseOrder,
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
		p.fail(manifests.AnnotationDependsOn, "contradicts %s, because an object that depends on others belongs to no wave; "+
			"remove one of them", strings.Join(names, ", "))
	}
}

// JoinDependencies returns dependencies in the form of the annotation.
func JoinDependencies(dependencies []manifests.Dependency) string {
	texts := make([]string, 0, len(dependencies))
	for _, d := range dependencies {
		texts = append(texts, d.String())
	}
	return strings.Join(texts, listSeparator+" ")
}
