package component

import (
	"maps"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/jsontype"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
)

// specParts are the parts of a spec that are no inputs of the rendering.
var specParts = map[reflect.Type]bool{
	reflect.TypeFor[metav1alpha1.SuspendSpec]():        true,
	reflect.TypeFor[metav1alpha1.PoliciesSpec]():       true,
	reflect.TypeFor[metav1alpha1.TimeoutSpec]():        true,
	reflect.TypeFor[metav1alpha1.RetrySpec]():          true,
	reflect.TypeFor[metav1alpha1.ResyncSpec]():         true,
	reflect.TypeFor[metav1alpha1.ServiceAccountSpec](): true,
	reflect.TypeFor[metav1alpha1.KubeConfigSpec]():     true,
	reflect.TypeFor[metav1alpha1.IgnoreSpec]():         true,
	reflect.TypeFor[metav1alpha1.AdoptSpec]():          true,
	reflect.TypeFor[metav1alpha1.ExportsSpec]():        true,
	reflect.TypeFor[metav1alpha1.EmptySpec]():          true,
	reflect.TypeFor[metav1alpha1.DependencySpec]():     true,
	reflect.TypeFor[metav1alpha1.ConsentSpec]():        true,
}

// renderedPart returns the part of a component that is an input of its rendering: the result of its InputSelector, or
// else its spec. The spec of a SpecHolder is returned without the fields of specParts.
func renderedPart(component Component) (any, error) {
	if s, ok := components.Implementation[InputSelector](component); ok {
		return s.RenderInputs(), nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(component)
	if err != nil {
		return nil, err
	}
	spec := content["spec"]
	holder, ok := component.(SpecHolder)
	if !ok {
		return spec, nil
	}
	fields, ok := spec.(map[string]any)
	if !ok {
		return spec, nil
	}
	settings := settingsOf(reflect.TypeOf(holder.GetSpec()))
	maps.DeleteFunc(fields, func(name string, _ any) bool { return settings[name] })
	return fields, nil
}

// settingsOf returns the names, in JSON, of the fields of a spec that belong to specParts. The parts may be embedded in
// structs that the spec embeds.
func settingsOf(spec reflect.Type) map[string]bool {
	names := map[string]bool{}
	for _, part := range embeddedIn(spec) {
		if !specParts[part] {
			maps.Copy(names, settingsOf(part))
			continue
		}
		for name := range jsontype.Fields(part) {
			names[name] = true
		}
	}
	return names
}

// specFieldOf returns the path, in JSON, of the field with a type in the spec of a component, such as spec.adopt. It is
// empty if the spec has no such field.
func specFieldOf(component, field reflect.Type) string {
	spec, ok := jsontype.Fields(component)["spec"]
	if !ok {
		return ""
	}
	for name, of := range jsontype.Fields(spec) {
		if of == field {
			return "spec." + name
		}
	}
	return ""
}

// embeddedIn returns the structs that are embedded inline in a struct, or in the struct of a pointer.
func embeddedIn(spec reflect.Type) []reflect.Type {
	if spec != nil && spec.Kind() == reflect.Pointer {
		spec = spec.Elem()
	}
	if spec == nil || spec.Kind() != reflect.Struct {
		return nil
	}
	var parts []reflect.Type
	for field := range spec.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct {
			parts = append(parts, field.Type)
		}
	}
	return parts
}
