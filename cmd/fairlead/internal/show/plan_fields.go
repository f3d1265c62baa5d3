package show

import (
	"fmt"

	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// PlanDropped is a field that the API server drops without an error. Place is its source file, if that is known.
type PlanDropped struct {
	Dependent string `json:"dependent"`
	Field     string `json:"field"`
	Place     string `json:"place,omitempty"`
}

// String returns the object, the place and the field.
func (d PlanDropped) String() string { return withPlace(d.Dependent, d.Place) + ": " + d.Field }

// DroppedFields returns dropped fields with their places. placeOf returns the source file of a field of a dependent; it
// is empty if it is not known.
func DroppedFields(fields []result.DroppedField, placeOf func(dependent, field string) string) []PlanDropped {
	var dropped []PlanDropped
	for _, d := range fields {
		object := d.Key.String()
		dropped = append(dropped, PlanDropped{Dependent: object, Field: d.Field, Place: placeOf(object, d.Field)})
	}
	return dropped
}

// withPlace adds the source file to the text of an object, if it is known.
func withPlace(object, place string) string {
	if place == "" {
		return object
	}
	return object + " (" + place + ")"
}

// PlanIgnored is a path to fields of a dependent that are left to others.
type PlanIgnored struct {
	Dependent string `json:"dependent"`
	Path      string `json:"path"`
	// By is where the rule was written: annotation, option or spec.
	By string `json:"by"`
}

// String returns the dependent, the field and the place of the rule, on one line.
func (i PlanIgnored) String() string {
	return fmt.Sprintf("%s: %s is ignored, by the %s", i.Dependent, i.Path, IgnoredBy(manifests.IgnoreSource(i.By)))
}

// IgnoredBy describes the place where a rule of ignored fields was written.
func IgnoredBy(source manifests.IgnoreSource) string {
	switch source {
	case manifests.IgnoredByAnnotation:
		return "annotation " + manifests.AnnotationIgnore
	case manifests.IgnoredByOption:
		return "option of the operator"
	case manifests.IgnoredBySpec:
		return "spec of the component"
	}
	return string(source)
}

// IgnoredFields returns the ignored fields of a forecast.
func IgnoredFields(f result.Forecast) []PlanIgnored {
	var ignored []PlanIgnored
	for _, i := range f.Ignored {
		ignored = append(ignored, PlanIgnored{Dependent: i.Key.String(), Path: i.Path, By: string(i.Source)})
	}
	return ignored
}
