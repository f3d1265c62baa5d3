package input

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// maxReadExportBytes is the maximum size of a referenced export, as JSON, in bytes. The reconciler publishes no larger
// values, but other programs may.
const maxReadExportBytes = 16 << 10

// maxNamedExports is the number of published exports that a message names.
const maxNamedExports = 10

const noComponent = "the component does not exist"

// wantedExport is an export of a referenced component.
type wantedExport struct {
	name     string
	optional bool
}

// isComponent reports whether the reference is to exports of a component.
func (r Reference) isComponent() bool { return r.Kind == metav1alpha1.ComponentReference }

// kindOf returns the type of a referenced component.
func (r *Reader) kindOf(ref metav1alpha1.Reference) schema.GroupKind {
	if ref.Type == "" {
		return r.Type
	}
	return schema.ParseGroupKind(ref.Type)
}

// componentReference returns the reference to an export of a component.
func (r *Reader) componentReference(
	namespace string, ref metav1alpha1.Reference, t target.Target,
) (Reference, error) {
	gk := r.kindOf(ref)
	mapping, err := t.Local.Discovery.Mapper().RESTMapping(gk)
	switch {
	case meta.IsNoMatchError(err):
		return Reference{}, passerror.InvalidSpec(fmt.Errorf("the type %s of a referenced component is not served", gk))
	case err != nil:
		return Reference{}, fmt.Errorf("find the type %s of a referenced component: %w", gk, err)
	case ref.Export == "":
		return Reference{}, passerror.InvalidSpec(fmt.Errorf("the reference to %s %s names no export", gk.Kind, ref.Name))
	}
	return Reference{
		Reference: generator.Reference{
			Kind: metav1alpha1.ComponentReference, Namespace: namespace, Name: ref.Name, Type: ref.Type,
		},
		watched:  observe.Reference{Resource: mapping.Resource, Namespace: namespace, Name: ref.Name},
		kind:     gk.Kind,
		optional: ref.Optional,
		wanted:   []wantedExport{{ref.Export, ref.Optional}},
	}, nil
}

// references returns the references of a component in a namespace, without contents. The references to several exports
// of a component become one.
func (r *Reader) references(
	namespace string, declared []metav1alpha1.Reference, t target.Target,
) ([]Reference, error) {
	refs := make([]Reference, 0, len(declared))
	for _, d := range declared {
		if d.Kind != metav1alpha1.ComponentReference {
			refs = append(refs, NewReference(namespace, d))
			continue
		}
		ref, err := r.componentReference(namespace, d, t)
		if err != nil {
			return nil, err
		}
		same := func(other Reference) bool { return other.Reference == ref.Reference }
		if i := slices.IndexFunc(refs, same); i >= 0 {
			refs[i].wanted = append(refs[i].wanted, ref.wanted...)
			refs[i].optional = refs[i].optional && ref.optional
			continue
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

// exportNames identifies the exports that a reference reads.
func (r *Reference) exportNames() string {
	names := make([]string, 0, len(r.wanted))
	for _, w := range r.wanted {
		names = append(names, w.name)
	}
	return strings.Join(names, " ")
}

// readExports reads the exports of a component, with the identity of the component that has the reference. Missing
// exports are no error here; see missingExports.
func (r *Reference) readExports(ctx context.Context, t target.Target) error {
	object := fmt.Sprintf("%s %s/%s", r.kind, r.Namespace, r.Name)
	obj, err := r.get(ctx, t)
	switch {
	case apierrors.IsNotFound(err):
		return r.setAbsent()
	case apierrors.IsForbidden(err):
		return passerror.Forbidden("read the exports of "+object, t.Local.User, err)
	case err != nil:
		return &passerror.Error{
			Reason: metav1alpha1.ReasonRetrying, Message: fmt.Sprintf("read the exports of %s: %v", object, err),
		}
	}
	data, missing := exportsIn(obj, r.wanted)
	if err := budget.Reserve(ctx, sizeOf(data)); err != nil {
		return err
	}
	r.content.version = obj.GetResourceVersion()
	return r.setExports(data, missing)
}

// setAbsent enters that the component does not exist. References to other objects stay unchanged.
func (r *Reference) setAbsent() error {
	if !r.isComponent() {
		return nil
	}
	r.content.version = ""
	missing := map[string]string{}
	for _, w := range r.wanted {
		missing[w.name] = noComponent
	}
	return r.setExports(map[string][]byte{}, missing)
}

// setExports replaces the exports of a reference. missing has the reason for each export without a value.
func (r *Reference) setExports(data map[string][]byte, missing map[string]string) (err error) {
	r.data, r.content.missing = data, missing
	r.content.values = r.valuesOfExports(data)
	r.content.digest, err = digestOf(data)
	return err
}

// SetExports replaces the exports of a reference to a component by given values, as JSON.
func (r *Reference) SetExports(given map[string][]byte) error {
	data, missing := map[string][]byte{}, map[string]string{}
	for _, w := range r.wanted {
		value, ok := given[w.name]
		if !ok {
			missing[w.name] = "it has no value"
			continue
		}
		data[w.name] = value
	}
	return r.setExports(data, missing)
}

// exportsIn returns the wanted exports that a component publishes, as JSON, and the reasons for the missing exports.
func exportsIn(
	obj *unstructured.Unstructured, wanted []wantedExport,
) (data map[string][]byte, missing map[string]string) {
	status, _ := obj.Object["status"].(map[string]any)
	published, _ := status["exports"].(map[string]any)
	data, missing = map[string][]byte{}, map[string]string{}
	for _, w := range wanted {
		value, ok := published[w.name]
		encoded, err := json.Marshal(value)
		switch {
		case !ok || value == nil || err != nil:
			missing[w.name] = "the component has published no value yet" + publishedNames(published)
		case len(encoded) > maxReadExportBytes:
			missing[w.name] = fmt.Sprintf("the value has %d bytes, more than %d", len(encoded), maxReadExportBytes)
		default:
			data[w.name] = encoded
		}
	}
	return data, missing
}

// publishedNames returns the names of the published exports of a component, for a message.
func publishedNames(published map[string]any) string {
	if len(published) == 0 {
		return ""
	}
	names := slices.Sorted(maps.Keys(published))
	text := strings.Join(names[:min(len(names), maxNamedExports)], ", ")
	if more := len(names) - maxNamedExports; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return "; it has published " + text
}

// valuesOfExports returns the single values in the exports of a component, for the history.
func (r *Reference) valuesOfExports(data map[string][]byte) []value {
	plain := map[string]any{}
	for name, encoded := range data {
		var v any
		if utiljson.Unmarshal(encoded, &v) == nil {
			plain[name] = v
		}
	}
	found, complete := valuesIn(plain, "", true)
	if !complete {
		return nil
	}
	for i := range found {
		found[i].path = fmt.Sprintf("%s %s: %s", r.kind, r.Name, found[i].path)
	}
	return found
}

// missingExports returns the error for references to exports that have no value, nil if there is none. The component
// waits: a watch event of the referenced component starts the next pass.
func missingExports(refs []Reference) error {
	var texts []string
	for _, ref := range refs {
		for _, w := range ref.wanted {
			if reason, missing := ref.content.missing[w.name]; missing && !w.optional {
				texts = append(texts, fmt.Sprintf("export %s of %s %s/%s: %s", w.name, ref.kind, ref.Namespace, ref.Name, reason))
			}
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return &passerror.Error{
		Reason: metav1alpha1.ReasonExportMissing, Terminal: true, Waits: true,
		Message: "it waits for " + strings.Join(texts, "; "),
	}
}

// IsOptional reports whether the object, or all wanted exports, may be missing.
func (r *Reference) IsOptional() bool { return r.optional }

// Once returns references with their contents, and watches nothing. read reads the content of a reference, and returns
// false if the object does not exist and is optional.
func (r *Reader) Once(
	ctx context.Context, name types.NamespacedName, declared []metav1alpha1.Reference, t target.Target,
	read func(*Reference) (found bool, err error),
) ([]Reference, error) {
	refs, err := r.references(name.Namespace, declared, t)
	if err == nil {
		err = r.checkCycle(ctx, name, t, refs, declared)
	}
	if err != nil {
		return nil, err
	}
	var found []Reference
	for i := range refs {
		exists, err := read(&refs[i])
		if err != nil {
			return nil, err
		}
		if exists {
			found = append(found, refs[i])
		}
	}
	return found, missingExports(found)
}
