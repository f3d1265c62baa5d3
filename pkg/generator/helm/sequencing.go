package helm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// The annotations of Helm's proposal for the sequence of resources (HIP-0025). The second key is not a valid key of an
// annotation in Kubernetes, so it must be removed.
const (
	groupAnnotation       = "helm.sh/resource-group"
	groupNeedsAnnotation  = "helm.sh/depends-on/resource-groups"
	dependenciesSeparator = ", "
)

// sequencing converts the resource groups of charts to dependencies. The zero value converts nothing.
type sequencing struct{ prefix string }

// enter converts the annotations of the objects of a template. The names of groups count within a chart, so the groups
// of a sub-chart get its path as a prefix.
func (s sequencing) enter(file string, objects []*unstructured.Unstructured) error {
	if s.prefix == "" {
		return nil
	}
	for _, object := range objects {
		annotations := object.GetAnnotations()
		needs, depends := annotations[groupNeedsAnnotation]
		group := annotations[groupAnnotation]
		if !depends && group == "" {
			continue
		}
		delete(annotations, groupNeedsAnnotation)
		object.SetAnnotations(annotations)
		if _, isHook := annotations[release.HookAnnotation]; isHook {
			// Hooks have an order of their own.
			continue
		}
		if group != "" {
			annotations[s.prefix+"/"+manifests.AnnotationDependsOnGroup] = groupIn(file, group)
		}
		if depends {
			var names []string
			if err := json.Unmarshal([]byte(needs), &names); err != nil {
				return fmt.Errorf("%s: %s %s: annotation %s: want a list of groups as JSON, such as [\"database\"]: %w",
					file, object.GetKind(), object.GetName(), groupNeedsAnnotation, err)
			}
			if list := needsIn(file, names); list != "" {
				annotations[s.prefix+"/"+manifests.AnnotationDependsOn] = list
			}
		}
		object.SetAnnotations(annotations)
	}
	return nil
}

// needsIn returns the dependencies on groups in the form of the setting depends-on. As in Helm, a group without objects
// does not count.
func needsIn(file string, names []string) string {
	var texts []string
	for _, name := range names {
		texts = append(texts, manifests.Dependency{Group: groupIn(file, name), Optional: true}.String())
	}
	return strings.Join(texts, dependenciesSeparator)
}

// groupIn returns the name of a group of the chart that has the given template.
func groupIn(file, name string) string {
	parts := strings.Split(file, "/")
	var path []string
	for i := 1; i+1 < len(parts) && parts[i] == "charts"; i += 2 {
		path = append(path, parts[i+1])
	}
	return strings.ToLower(strings.Join(append(path, name), "."))
}

// share gives the dependencies of each object of a group to all objects of the group. Namespaces and definitions depend
// on nothing, because other objects need them from the start.
func (s sequencing) share(objects []*unstructured.Unstructured) {
	if s.prefix == "" {
		return
	}
	groupKey, needsKey := s.prefix+"/"+manifests.AnnotationDependsOnGroup, s.prefix+"/"+manifests.AnnotationDependsOn
	needs := map[string][]string{}
	for _, object := range objects {
		annotations := object.GetAnnotations()
		if group, list := annotations[groupKey], annotations[needsKey]; group != "" && list != "" {
			needs[group] = append(needs[group], strings.Split(list, dependenciesSeparator)...)
		}
	}
	for _, object := range objects {
		annotations := object.GetAnnotations()
		all := slices.Clone(needs[annotations[groupKey]])
		slices.Sort(all)
		switch holds := (hook{object: object}).holds(); {
		case holds:
			delete(annotations, needsKey)
		case len(all) > 0:
			annotations[needsKey] = strings.Join(slices.Compact(all), dependenciesSeparator)
		}
		object.SetAnnotations(annotations)
	}
}
