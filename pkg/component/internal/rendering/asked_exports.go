package rendering

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Asked returns the exports that the rendering asked for, with the objects of the set that export them.
func (s Set) Asked() []plan.AskedExport {
	if len(s.Lookups.Exports) == 0 {
		return nil
	}
	exporters := s.exporters()
	asked := make([]plan.AskedExport, 0, len(s.Lookups.Exports))
	for _, e := range s.Lookups.Exports {
		asked = append(asked, plan.AskedExport{AskedExport: e, Exporter: exporters[e.Name]})
	}
	return asked
}

// exporters returns the objects of the set that export values, by the names of the exports.
func (s Set) exporters() map[string]manifests.Key {
	exporters := map[string]manifests.Key{}
	for _, o := range s.Objects {
		for _, e := range o.Settings.Exports() {
			exporters[e.Name] = o.Key
		}
	}
	return exporters
}

// checkAsked refuses a set whose rendering asked for exports of Secrets, because the rendering could write the values
// into any object. It also refuses a set whose rendering asked for an export that no object has and that never had a
// value. While other exports have no value, the object may still be missing because of them.
func checkAsked(set Set) error {
	asked := set.Asked()
	if len(asked) == 0 {
		return nil
	}
	var errs []error
	var unknown []string
	incomplete := false
	for _, e := range asked {
		switch {
		case e.Exporter.GroupKind() == (schema.GroupKind{Kind: "Secret"}):
			errs = append(errs, fmt.Errorf(
				"the rendering asked for export %s of %s: values of Secrets are not available to renderings, which could "+
					"write them into any object; bind the value in a Secret, with a hole in its text", e.Name, e.Exporter,
			))
		case e.Value != "":
		case e.IsDeclared():
			incomplete = true
		default:
			unknown = append(unknown, e.Name)
		}
	}
	if len(unknown) > 0 && !incomplete {
		known := "no object exports a value"
		if names := slices.Sorted(maps.Keys(set.exporters())); len(names) > 0 {
			known = "the exports are " + strings.Join(names[:min(len(names), maxNamed)], ", ")
		}
		errs = append(errs, fmt.Errorf(
			"the rendering asked for export %s, which no object of it exports; %s",
			strings.Join(unknown[:min(len(unknown), maxNamed)], ", "), known,
		))
	}
	if err := errors.Join(errs...); err != nil {
		return &passerror.Error{Reason: metav1alpha1.ReasonInvalidManifests, Message: err.Error(), Terminal: true}
	}
	return nil
}

// explainMissing adds the exports without a value to the error of a generator, because they may be its cause.
func explainMissing(err error, asked []metav1alpha1.AskedExport) error {
	failure, ok := errors.AsType[*passerror.Error](err)
	if !ok || failure.Reason != metav1alpha1.ReasonGenerateFailed {
		return err
	}
	var names []string
	for _, e := range asked {
		if e.Value == "" {
			names = append(names, e.Name)
		}
	}
	if len(names) == 0 {
		return err
	}
	explained := *failure
	explained.Message += fmt.Sprintf(
		"; the rendering asked for exports that have no value yet: %s; it must be possible without them, because the "+
			"objects that export them are applied first", strings.Join(names[:min(len(names), maxNamed)], ", "),
	)
	return &explained
}
