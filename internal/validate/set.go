package validate

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/builtintypes"
	"github.com/fairlead-io/fairlead/internal/validate/values"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Invalid is an object of a set with its faults, and with the paths of its fields that the API server drops.
type Invalid struct {
	Object  manifests.Object
	Faults  []Fault
	Dropped []string
}

// Set returns the objects with faults or dropped fields of a set that nothing was applied of, without an API server.
// builtIn has the schemas of the types of Kubernetes. Types that the set defines are checked by their definitions, and
// other types are accepted. An object outside Kubernetes is left out, and so are one that is only observed and the
// fields with holes.
func Set(objects []manifests.Object, builtIn managedfields.TypeConverter) ([]Invalid, error) {
	definitions := map[schema.GroupKind]manifests.Object{}
	for _, o := range objects {
		for _, t := range o.Types {
			definitions[t.GroupKind] = o
		}
	}
	mutates := Mutates(objects)
	checks := map[schema.GroupVersionKind]*values.Type{}
	var invalid []Invalid
	for _, o := range objects {
		if o.Key.IsExternal() || o.Settings.IsObserved() {
			continue
		}
		whole, err := o.Whole()
		if err != nil {
			return nil, err
		}
		s := Subject{
			Object: whole, Types: builtIn, DropsUnknown: o.Settings.UpdatePolicy == metav1alpha1.UpdateReplace,
		}
		d, defined := definitions[o.Key.GroupKind()]
		s.UnknownType = !defined && !builtintypes.IsBuiltIn(o.Key.Group)
		if defined {
			if d, err = d.Whole(); err != nil {
				return nil, err
			}
			if s.Types, err = Definition(d.Body, o.Version); err != nil {
				return nil, fmt.Errorf("%s: %w", d.Key, err)
			}
			s.Unserved = !Serves(d.Body, o.Version)
			gvk := o.GroupVersionKind()
			if _, known := checks[gvk]; !known && !mutates(gvk.Group) {
				// An error says that the definition is invalid, and nothing about the object.
				checks[gvk], _ = DefinitionValues(d.Body, o.Version)
			}
			s.Values = checks[gvk]
		}
		check := Check
		if o.Settings.Binds() {
			check = CheckRest
		}
		if faults, dropped := check(s); len(faults)+len(dropped) > 0 {
			invalid = append(invalid, Invalid{Object: whole, Faults: faults, Dropped: dropped})
		}
	}
	return invalid, nil
}
