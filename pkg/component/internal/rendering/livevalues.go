package rendering

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/determinism"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// liveValues returns the rendering with the generated values of live objects. New values would replace the password of
// a database, for example. liveValues takes the values from three kinds of objects: those restored from a backup that
// lacks the pinned rendering, those taken over from another component, and those that this component released before.
//
// Such an object has marks that keepsValues accepts. So a component with new inputs gets new values in its dependents.
// taken names the fields with such values, and the fields of these objects that have none; it is empty if there is no
// such object.
func liveValues(
	ctx context.Context, req Request, v variable,
) (filled []*unstructured.Unstructured, taken string, err error) {
	restored, _, err := restoredObjects(ctx, req, v.generated(nil))
	if err != nil || len(restored) == 0 {
		return v.objects, "", err
	}
	filled, unknown := determinism.Fill(restored, v.objects, v.fields)
	return filled, noRecord + describeTaken(v.fields, unknown, keysOf(restored)), nil
}

// newValues begins a text about objects that do not exist and whose values were lost.
const newValues = "deleted objects get new values: "

// noRecord begins a text about values that were taken from live objects.
const noRecord = newValues + "no record of the generated values was found; "

// pinnedValues returns a later rendering in which generated values are those of an earlier, pinned rendering. An object
// that the earlier rendering does not have may come back, for example after its delete policy kept it. Its values are
// those of the live object then; see liveValues. The rendering is nil if a field has no value.
func pinnedValues(
	ctx context.Context, req Request, v variable, before []*unstructured.Unstructured,
) (merged []*unstructured.Unstructured, taken string, err error) {
	returned, _, err := restoredObjects(ctx, req, v.generated(before))
	if err != nil {
		return nil, "", err
	}
	merged, unknown := determinism.Merge(slices.Concat(before, returned), v.objects, v.fields)
	if len(unknown) > 0 {
		return nil, "", nil
	}
	keys := keysOf(returned)
	isPinned := func(f determinism.Field) bool { return !keys[f.Object] }
	if fields := slices.DeleteFunc(slices.Clone(v.fields), isPinned); len(fields) > 0 {
		taken = noRecord + describeTaken(fields, nil, keys)
	}
	return merged, taken, nil
}

// generated returns the objects that have generated values, each once, without those that an earlier rendering has.
func (v variable) generated(before []*unstructured.Unstructured) []*unstructured.Unstructured {
	wanted := map[manifests.Key]bool{}
	for _, f := range v.fields {
		wanted[f.Object] = true
	}
	for _, o := range before {
		delete(wanted, determinism.KeyOf(o))
	}
	var found []*unstructured.Unstructured
	for _, o := range v.objects {
		if key := determinism.KeyOf(o); wanted[key] {
			delete(wanted, key)
			found = append(found, o)
		}
	}
	return found
}

func keysOf(objects []*unstructured.Unstructured) map[manifests.Key]bool {
	keys := map[manifests.Key]bool{}
	for _, o := range objects {
		keys[determinism.KeyOf(o)] = true
	}
	return keys
}

// restoredObjects returns the live objects of manifests whose values are kept, and the manifests whose objects do not
// exist, have no owner, or cannot be seen with the watches' identity.
func restoredObjects(
	ctx context.Context, req Request, manifested []*unstructured.Unstructured,
) (restored, missing []*unstructured.Unstructured, err error) {
	applied := map[manifests.Key]bool{}
	for _, e := range req.Inventory {
		applied[plan.KeyOf(e)] = e.Digest != ""
	}
	for _, o := range manifested {
		live, isMissing, err := restoredObject(ctx, req, o, applied)
		switch {
		case err != nil:
			return nil, nil, err
		case live != nil:
			restored = append(restored, live)
		case isMissing:
			missing = append(missing, o)
		}
	}
	return restored, missing, nil
}

// restoredObject returns the live object of a manifest with the namespace of the manifest, or nil if its values are not
// kept; see liveValues. isMissing is set if there is no object that can be seen, or if it has no owner. The watches'
// identity looks whether it is one, so that a component without the right to read the type can be applied. The values
// are read with the identity of the component.
func restoredObject(
	ctx context.Context, req Request, o *unstructured.Unstructured, applied map[manifests.Key]bool,
) (live *unstructured.Unstructured, isMissing bool, err error) {
	gvk, client := o.GroupVersionKind(), req.Target.Client
	mapping, err := client.Discovery.Mapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, liveError(o, err)
	}
	key := determinism.KeyOf(o)
	if key.Namespace = ""; mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if key.Namespace = o.GetNamespace(); key.Namespace == "" {
			key.Namespace = req.Inputs.Namespace
		}
	}
	if applied[key] && !adoptsAlways(o, req) {
		return nil, false, nil
	}
	marks, err := marksOf(ctx, client.Reader.Metadata.Resource(mapping.Resource).Namespace(key.Namespace), key.Name)
	if err != nil {
		return nil, false, liveError(o, err)
	}
	if marks == nil || !keepsValues(marks, o, req, applied[key]) {
		return nil, marks == nil || isUnowned(marks, req), nil
	}
	live, err = client.Dynamic.Resource(mapping.Resource).Namespace(key.Namespace).
		Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, true, nil
	}
	if apierrors.IsForbidden(err) {
		return nil, false, passerror.Forbidden(readAction(o), client.User, err)
	}
	if err != nil {
		return nil, false, liveError(o, err)
	}
	if err := reserve(ctx, live); err != nil {
		return nil, false, err
	}
	live.SetNamespace(o.GetNamespace())
	addTexts(live)
	return live, false, nil
}

// marksOf reads the metadata of an object. It returns nil if the object does not exist, or cannot be read.
func marksOf(ctx context.Context, r metadata.ResourceInterface, name string) (*metav1.PartialObjectMetadata, error) {
	marks, err := r.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err) {
		return nil, nil
	}
	return marks, err
}

// keepsValues reports whether a manifest gets the generated values of a live object. The object has the marks of the
// component, of its cluster or of another one, or the component released it, or the manifest takes it over from another
// component of the reconciler. An object that the component has applied here must belong to another component by now. A
// copy of another object has marks of the component, too, and keeps its values: they are never worse than new random
// ones, and who copies a password, for example to rename a Secret, wants to keep it.
func keepsValues(live metav1.Object, manifest *unstructured.Unstructured, req Request, applied bool) bool {
	annotations := live.GetAnnotations()
	if marks.ReleasedBy(annotations, req.Owner.Reconciler) == req.Owner.ID() {
		return true
	}
	marked, ok := manifests.ParseOwner(annotations[req.Owner.Reconciler+"/"+manifests.AnnotationOwnerID])
	if !ok {
		return false
	}
	if adoptsAlways(manifest, req) {
		return !applied || marked != req.Owner
	}
	marked.Cluster = req.Owner.Cluster
	return marked == req.Owner
}

// isUnowned reports whether a live object belongs to no component of the reconciler. For example, somebody may have
// removed its marks.
func isUnowned(live metav1.Object, req Request) bool {
	return live.GetAnnotations()[req.Owner.Reconciler+"/"+manifests.AnnotationOwnerID] == ""
}

// adoptsAlways reports whether the adoption policy of a manifest is always.
func adoptsAlways(manifest *unstructured.Unstructured, req Request) bool {
	policy := manifest.GetAnnotations()[req.Owner.Reconciler+"/"+manifests.AnnotationAdoptionPolicy]
	return metav1alpha1.AdoptionPolicy(cmp.Or(policy, string(req.Adoption))) == metav1alpha1.AdoptAlways
}

// addTexts adds the data of a Secret as stringData, because a manifest may set it there.
func addTexts(live *unstructured.Unstructured) {
	if live.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Secret"}) {
		return
	}
	data, _, _ := unstructured.NestedMap(live.Object, "data")
	texts := map[string]any{}
	for name, value := range data {
		encoded, _ := value.(string)
		if text, err := base64.StdEncoding.DecodeString(encoded); err == nil && utf8.Valid(text) {
			texts[name] = string(text)
		}
	}
	live.Object["stringData"] = texts
}

// describeTaken names the fields whose values were taken from live objects, and the fields of these objects that get
// new values.
func describeTaken(
	fields, unknown []determinism.Field, isRestored map[manifests.Key]bool,
) string {
	isUnknown := map[string]bool{}
	for _, f := range unknown {
		isUnknown[f.String()] = true
	}
	var taken, renewed []determinism.Field
	for _, f := range fields {
		switch {
		case !isUnknown[f.String()]:
			taken = append(taken, f)
		case isRestored[f.Object]:
			renewed = append(renewed, f)
		}
	}
	var parts []string
	if len(taken) > 0 {
		parts = append(parts, "values of existing objects that are kept: "+describeFields(taken))
	}
	if len(renewed) > 0 {
		parts = append(parts, "fields of existing objects that get new values: "+describeFields(renewed))
	}
	return strings.Join(parts, "; ")
}

func readAction(o *unstructured.Unstructured) string {
	return fmt.Sprintf("read %s, whose generated values have to be kept", determinism.KeyOf(o))
}

// liveError returns the condition error for a restored object that could not be read.
func liveError(o *unstructured.Unstructured, err error) error {
	if passerror.Interrupted(err) {
		return err
	}
	return &passerror.Error{Reason: metav1alpha1.ReasonRetrying, Message: fmt.Sprintf("%s: %v", readAction(o), err)}
}
