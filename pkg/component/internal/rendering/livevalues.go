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
	restored, err := restoredObjects(ctx, req, v.generated(nil))
	if err != nil || len(restored) == 0 {
		return v.objects, "", err
	}
	filled, unknown := determinism.Fill(restored, v.objects, v.fields)
	return filled, noRecord + describeTaken(v.fields, unknown, keysOf(restored)), nil
}

// The beginnings of texts about values that were taken from live objects.
const (
	noRecord       = "no record of the generated values was found; "
	unprovenRecord = "a record of the generated values was found, and nothing proves it; "
)

// foundValues returns a rendering that keeps the generated values of all live objects of the component. found are the
// manifests of a record that nothing proves; see records.Found. A tenant may have written them, so they are used only
// for an object whose applied manifest they are: its digest annotation is the digest of the found manifest. If the live
// object has drifted, it gets the applied values again. An object that does not exist gets new values.
func (r *Renderer) foundValues(
	ctx context.Context, req Request, v variable, found []*unstructured.Unstructured,
) (filled []*unstructured.Unstructured, taken string, err error) {
	asked := req
	asked.Inventory = nil // An object that was applied has the values, too.
	live, err := restoredObjects(ctx, asked, v.generated(nil))
	if err != nil || len(live) == 0 {
		return v.objects, unprovenRecord + "no object has its values", err
	}
	digests, bodies := r.digestsOf(req, found), map[manifests.Key]*unstructured.Unstructured{}
	for _, o := range found {
		bodies[determinism.KeyOf(o)] = o
	}
	values := slices.Clone(live)
	for i, o := range live {
		applied := o.GetAnnotations()[req.Owner.Reconciler+"/"+marks.AnnotationDigest]
		key := determinism.KeyOf(o)
		if body, ok := bodies[key]; ok && applied != "" && slices.Contains(digests[normalKey(req, key)], applied) {
			values[i] = body
		}
	}
	filled, unknown := determinism.Fill(values, v.objects, v.fields)
	return filled, unprovenRecord + describeTaken(v.fields, unknown, keysOf(live)), nil
}

// digestsOf returns the digests of manifests by normalKey. An object with several orders has several digests. The
// result is empty if the manifests cannot be normalised.
func (r *Renderer) digestsOf(req Request, bodies []*unstructured.Unstructured) map[manifests.Key][]string {
	digests := map[manifests.Key][]string{}
	objects, err := Normalise(bodies, r.normaliseOptions(req))
	if err != nil {
		return digests
	}
	for _, o := range objects {
		key := normalKey(req, o.Key)
		digests[key] = append(digests[key], o.Digest)
	}
	return digests
}

// normalKey returns the key of an object in a form that does not depend on whether its manifest has the default
// namespace.
func normalKey(req Request, key manifests.Key) manifests.Key {
	if key.Namespace == req.Inputs.Namespace {
		key.Namespace = ""
	}
	return key
}

// pinnedValues returns a later rendering in which generated values are those of an earlier, pinned rendering. An object
// that the earlier rendering does not have may come back, for example after its delete policy kept it. Its values are
// those of the live object then; see liveValues. The rendering is nil if a field has no value.
func pinnedValues(
	ctx context.Context, req Request, v variable, before []*unstructured.Unstructured,
) (merged []*unstructured.Unstructured, taken string, err error) {
	returned, err := restoredObjects(ctx, req, v.generated(before))
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

// restoredObjects returns the live objects of manifests whose values are kept.
func restoredObjects(
	ctx context.Context, req Request, manifested []*unstructured.Unstructured,
) ([]*unstructured.Unstructured, error) {
	if len(manifested) == 0 {
		return nil, nil
	}
	applied := map[manifests.Key]bool{}
	for _, e := range req.Inventory {
		applied[plan.KeyOf(e)] = e.Digest != ""
	}
	var restored []*unstructured.Unstructured
	for _, o := range manifested {
		live, err := restoredObject(ctx, req, o, applied)
		if err != nil {
			return nil, err
		}
		if live != nil {
			restored = append(restored, live)
		}
	}
	return restored, nil
}

// restoredObject returns the live object of a manifest with the namespace of the manifest, or nil if its values are not
// kept; see liveValues. The watches' identity looks whether it is one, so that a component without the right
// to read the type can be applied. The values are read with the identity of the component.
func restoredObject(
	ctx context.Context, req Request, o *unstructured.Unstructured, applied map[manifests.Key]bool,
) (*unstructured.Unstructured, error) {
	gvk, client := o.GroupVersionKind(), req.Target.Client
	mapping, err := client.Discovery.Mapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, liveError(o, err)
	}
	key := determinism.KeyOf(o)
	if key.Namespace = ""; mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if key.Namespace = o.GetNamespace(); key.Namespace == "" {
			key.Namespace = req.Inputs.Namespace
		}
	}
	if applied[key] && !adoptsAlways(o, req) {
		return nil, nil
	}
	marks, err := marksOf(ctx, client.Reader.Metadata.Resource(mapping.Resource).Namespace(key.Namespace), key.Name)
	if err != nil {
		return nil, liveError(o, err)
	}
	if marks == nil || !keepsValues(marks, o, req, applied[key]) {
		return nil, nil
	}
	live, err := client.Dynamic.Resource(mapping.Resource).Namespace(key.Namespace).
		Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if apierrors.IsForbidden(err) {
		return nil, passerror.Forbidden(readAction(o), client.User, err)
	}
	if err != nil {
		return nil, liveError(o, err)
	}
	if err := reserve(ctx, live); err != nil {
		return nil, err
	}
	live.SetNamespace(o.GetNamespace())
	addTexts(live)
	return live, nil
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
