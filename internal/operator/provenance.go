package operator

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/plural"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Provenance is the origin of an object, or of one of its fields, in the rendering of a Component.
type Provenance struct {
	// Rendered is the rendered object, or nil if the component does not render the object.
	Rendered *unstructured.Unstructured
	// File is the template or manifest file of the object. It is empty if the engine does not report the file.
	File string
	// Values are the values that affect the object or the field.
	Values []ValueOrigin
	// Unknown is the reason why Values may be incomplete. It is empty if Values are complete.
	Unknown string
}

// ValueOrigin is a value that affects a rendered object.
type ValueOrigin struct {
	// Path of the value, such as image.tag.
	Path string `json:"path"`
	// From is the place where the value is set.
	From string `json:"from"`
}

// Wanted selects an object or a field.
type Wanted struct {
	Key manifests.Key
	// CallFunctions allows the call of a function. Without it, Components with a function are refused.
	CallFunctions bool
	// At is a function that returns a field of the rendered object, and whether the field exists. If At is nil, the whole
	// object is selected.
	At func(*unstructured.Unstructured) (any, bool)
}

// Limits of the search for values that affect an object. The search renders the component again for each value.
const (
	maxTracedValues = 300
	maxTracing      = 15 * time.Second
)

// Trace finds the file of a rendered object and the values that affect it. It renders the Component, changes one value
// after the other, renders the Component again, and compares the selected part. It calls a function only once, so the
// values that affect its output are unknown.
func Trace(ctx context.Context, req generator.Request, wanted Wanted) (Provenance, error) {
	g, err := NewGenerator(RenderOptions{RefuseFunctions: !wanted.CallFunctions})
	if err != nil {
		return Provenance{}, err
	}
	component, ok := req.Component.(*v1alpha1.Component)
	if !ok {
		return Provenance{}, fmt.Errorf("%T is not a Component", req.Component)
	}
	t := tracing{generator: g, request: req, wanted: wanted, component: component}
	p, err := t.locate(ctx)
	if err != nil || p.Rendered == nil {
		return p, err
	}
	if generator.Engine(component.Spec.Generator) == engineFunction {
		// A function is not called for each value, because a call may be slow and may have side effects.
		p.Unknown = "a function renders the object, and functions are called only once"
		return p, nil
	}
	if t.inputs, err = inputValues(ctx, component, req); err != nil {
		return p, err
	}
	if t.values, err = t.visibleValues(); err != nil {
		return p, err
	}
	p.Values, p.Unknown = t.influences(ctx, t.look(p.Rendered))
	return p, nil
}

type tracing struct {
	generator generator.Generator
	request   generator.Request
	wanted    Wanted
	component *v1alpha1.Component
	// inputs are the values of spec.inputs, each at its place among the values.
	inputs map[string]any
	// values are the values that the templates read, from visibleValues.
	values map[string]any
}

// locate renders the component once, like the operator, and finds the object and its file.
func (t tracing) locate(ctx context.Context) (Provenance, error) {
	var origins []generator.Origin
	req := t.request
	req.Locate = func(o generator.Origin) { origins = append(origins, o) }
	objects, err := t.render(ctx, req)
	if err != nil {
		return Provenance{}, err
	}
	p := Provenance{Rendered: t.find(objects)}
	for _, o := range origins {
		if p.Rendered != nil && t.isWanted(o.APIVersion, o.Kind, o.Namespace, o.Name) {
			p.File = o.File
		}
	}
	return p, nil
}

func (t tracing) render(ctx context.Context, req generator.Request) ([]*unstructured.Unstructured, error) {
	generated, err := t.generator.Generate(ctx, req)
	if err != nil {
		return nil, err
	}
	objects := make([]*unstructured.Unstructured, 0, len(generated))
	for _, o := range generated {
		data, err := manifests.ToUnstructured(o, gvkOf)
		if err != nil {
			return nil, err
		}
		objects = append(objects, asStored(data))
	}
	return objects, nil
}

// asStored returns a Secret in the form in which the API server stores it, so that its fields can be compared with the
// fields of the live object. Other objects are returned unchanged.
func asStored(obj *unstructured.Unstructured) *unstructured.Unstructured {
	texts, found, err := unstructured.NestedStringMap(obj.Object, "stringData")
	if !found || err != nil || obj.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Secret"}) {
		return obj
	}
	stored := obj.DeepCopy()
	data, _, err := unstructured.NestedMap(stored.Object, "data")
	if err != nil {
		return obj
	}
	if data == nil {
		data = map[string]any{}
	}
	for key, text := range texts {
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	stored.Object["data"] = data
	delete(stored.Object, "stringData")
	return stored
}

func (t tracing) find(objects []*unstructured.Unstructured) *unstructured.Unstructured {
	for _, o := range objects {
		if t.isWanted(o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName()) {
			return o
		}
	}
	return nil
}

// isWanted reports whether an object is the wanted object. An object that is rendered without a namespace matches every
// namespace.
func (t tracing) isWanted(apiVersion, kind, namespace, name string) bool {
	key := t.wanted.Key
	return groupOf(apiVersion) == key.Group && kind == key.Kind && name == key.Name &&
		(namespace == "" || namespace == key.Namespace)
}

// look returns the selected part of a rendered object: a field or the whole object.
func (t tracing) look(rendered *unstructured.Unstructured) any {
	if rendered == nil {
		return nil
	}
	if t.wanted.At == nil {
		return rendered.Object
	}
	value, _ := t.wanted.At(rendered)
	return value
}

// influences finds the values that affect the wanted part. It changes one value after the other and renders the
// component. The result unknown is the reason why other values may also affect the part. It is empty if all values were
// found.
func (t tracing) influences(ctx context.Context, want any) (found []ValueOrigin, unknown string) {
	ctx, cancel := context.WithTimeout(ctx, maxTracing)
	defer cancel()
	if again, err := t.with(ctx, t.values); err != nil || !reflect.DeepEqual(again, want) {
		return nil, "repeated renderings differ, or the object depends on more than the values"
	}
	leaves := leavesOf(t.values)
	sortByLikelihood(leaves, want)
	refused := 0
	for i, leaf := range leaves {
		if i == maxTracedValues || ctx.Err() != nil {
			return found, fmt.Sprintf("only %d of %d values were tried", i, len(leaves))
		}
		got, err := t.with(ctx, leaf.changedIn(t.values))
		switch {
		case err != nil && ctx.Err() == nil:
			refused++
		case err == nil && !reflect.DeepEqual(got, want):
			found = append(found, ValueOrigin{Path: leaf.String(), From: t.setIn(leaf)})
		}
	}
	if refused > 0 {
		unknown = "for " + plural.Of(refused, "value") + ", the component cannot be rendered with another value"
	}
	return found, unknown
}

// with renders the component with the given values, and returns the selected part of the object.
func (t tracing) with(ctx context.Context, values map[string]any) (any, error) {
	data, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	changed := t.component.DeepCopy()
	changed.Spec.Values = &runtime.RawExtension{Raw: data}
	req := t.request
	req.Component = changed
	objects, err := t.render(ctx, req)
	if err != nil {
		return nil, err
	}
	return t.look(t.find(objects)), nil
}

func gvkOf(o runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(o, clientgoscheme.Scheme)
}

func groupOf(apiVersion string) string {
	return schema.FromAPIVersionAndKind(apiVersion, "").Group
}
