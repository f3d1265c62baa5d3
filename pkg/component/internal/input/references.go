package input

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// Reference is a referenced object. Its data is read only when a rendering needs the data, or when its resource version
// has changed. Otherwise the known digest of the content is used.
type Reference struct {
	generator.Reference
	watched observe.Reference
	content content
	data    map[string][]byte
	// credential is set if the object contains credentials, for example for a fetch. Then its content is not an input of
	// the rendering, so that a new password does not make a new revision.
	credential bool
	// optional is set if the object, or all wanted exports, may be missing.
	optional bool
	// kind is the kind of a component, for messages. wanted are the exports of a component that are read.
	kind   string
	wanted []wantedExport
	// source is set if the object holds the source. A change of the source is not a change of values.
	source bool
}

// Is reports whether the object has the given name of a source, such as "ConfigMap charts".
func (r Reference) Is(source string) bool { return source == fmt.Sprintf("%s %s", r.Kind, r.Name) }

// ContentDigest identifies the content of the object.
func (r Reference) ContentDigest() string { return r.content.digest }

// content is the digest of the content of a referenced object, with the resource version of the object that the digest
// was computed from. values are the single values in it.
type content struct {
	version, digest string
	values          []value
	// missing contains the reasons why some of the wanted exports of a component have no value.
	missing map[string]string
}

// Contents are the known digests and values of the objects that a component references. A map of this type is never
// changed: each call of Read returns a new map.
type Contents map[contentKey]content

// contentKey identifies the content of a reference: the object and, for a component, the wanted exports.
type contentKey struct {
	object  observe.Reference
	exports string
}

func (r *Reference) contentKey() contentKey { return contentKey{r.watched, r.exportNames()} }

// NewReference returns a reference of a component in a namespace to a Secret or ConfigMap, without content.
func NewReference(namespace string, ref metav1alpha1.Reference) Reference {
	resource := "configmaps"
	if ref.Kind == metav1alpha1.SecretReference {
		resource = "secrets"
	}
	return Reference{
		Reference: generator.Reference{Kind: ref.Kind, Namespace: namespace, Name: ref.Name},
		watched: observe.Reference{
			Resource: corev1.SchemeGroupVersion.WithResource(resource), Namespace: namespace, Name: ref.Name,
		},
		credential: ref.Credential,
		optional:   ref.Optional,
	}
}

// watch watches the referenced objects, so that a change of one of them starts a pass over the component. It returns
// the references, without contents. source is the name of the source.
func (r *Reader) watch(
	name types.NamespacedName, declared []metav1alpha1.Reference, source string, t target.Target,
) ([]Reference, error) {
	if declared == nil {
		return nil, nil
	}
	refs, err := r.references(name.Namespace, declared, t)
	if err != nil {
		return nil, err
	}
	watched := make([]observe.Reference, 0, len(refs))
	for i := range refs {
		refs[i].source = refs[i].Is(source)
		watched = append(watched, refs[i].watched)
	}
	r.References.Watch(name.String(), t.Local.Reader, watched, func() { r.Wake(name) })
	return refs, nil
}

// existing returns the references to objects that exist, with their current resource versions, and all references to
// components.
func (r *Reader) existing(ctx context.Context, refs []Reference, t target.Target) ([]Reference, error) {
	if refs == nil {
		return nil, nil
	}
	found := make([]Reference, 0, len(refs))
	var missing []Reference
	observing := false
	for _, ref := range refs {
		version, known, failure := r.References.Version(t.Local.Reader, ref.watched)
		object := fmt.Sprintf("%s %s/%s", ref.Kind, ref.Namespace, ref.Name)
		switch {
		case failure != observe.Failure{}:
			return nil, passerror.Unwatched(object, failure.Message, failure.Forbidden)
		case !known:
			observing = true
		case version == "":
			switch exists, err := ref.confirm(ctx, t); {
			case err != nil:
				return nil, err
			case exists:
				found = append(found, ref)
			case !ref.optional:
				missing = append(missing, ref)
			}
		default:
			ref.content.version = version
			found = append(found, ref)
		}
	}
	if len(missing) > 0 {
		return nil, missingReferences(missing...)
	}
	if observing {
		return nil, passerror.ErrObserving
	}
	return found, nil
}

// confirm reads an object that its watch does not show, and reports whether the object exists. The watch may be late: a
// person creates a source, and then the component with the reference to it. Without the right to read the object, the
// watch decides. An optional object is not read. A component always counts as existing: its exports are missing.
func (r *Reference) confirm(ctx context.Context, t target.Target) (exists bool, err error) {
	if r.optional {
		return r.isComponent(), r.setAbsent()
	}
	err = r.Read(ctx, t)
	switch failure := passerror.Of(err); {
	case failure == nil:
		return true, nil
	case failure.Reason == metav1alpha1.ReasonReferenceNotFound, failure.Reason == metav1alpha1.ReasonForbidden:
		if r.isComponent() {
			return true, r.setAbsent()
		}
		return false, nil
	}
	return false, err
}

// missingReferences returns the error for references to objects that do not exist. A source and credentials cannot be
// optional. The garbage collection deletes a restored source whose owner reference names the previous component.
func missingReferences(missing ...Reference) error {
	texts := make([]string, 0, len(missing)+1)
	canBeOptional, hasSource := false, false
	for _, r := range missing {
		texts = append(texts, fmt.Sprintf("%s %s/%s does not exist", r.Kind, r.Namespace, r.Name))
		canBeOptional, hasSource = canBeOptional || !r.source && !r.credential, hasSource || r.source
	}
	advice := "create it"
	if hasSource {
		advice += " (a source without the ownerReferences of a backup, or with fairlead apply)"
	}
	if canBeOptional {
		advice += ", or mark the reference as optional: then values of it fall back to their defaults, and objects that are " +
			"not rendered without them are deleted"
	}
	return &passerror.Error{
		Reason: metav1alpha1.ReasonReferenceNotFound, Terminal: true, Message: strings.Join(append(texts, advice), "; "),
	}
}

// identify enters the digest of the content into each reference. If the digest for the current resource version is not
// known, the data of the object is read.
func identify(ctx context.Context, t target.Target, refs []Reference, known Contents) (Contents, error) {
	if refs == nil {
		return known, nil
	}
	contents := make(Contents, len(refs))
	for i := range refs {
		ref := &refs[i]
		switch c, ok := known[ref.contentKey()]; {
		case ok && c.version == ref.content.version:
			ref.content = c
		case ref.data == nil:
			if err := ref.Read(ctx, t); err != nil {
				return known, err
			}
		}
		contents[ref.contentKey()] = ref.content
	}
	return contents, missingExports(refs)
}

// Read reads the data of a reference, or the wanted exports of a component, with the identity of the component.
func (r *Reference) Read(ctx context.Context, t target.Target) error {
	if r.isComponent() {
		return r.readExports(ctx, t)
	}
	name := types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
	obj, err := r.get(ctx, t)
	if apierrors.IsNotFound(err) {
		return missingReferences(*r)
	}
	if apierrors.IsForbidden(err) {
		return passerror.Forbidden(fmt.Sprintf("read %s %s", r.Kind, name), t.Local.User, err)
	}
	if err != nil {
		return &passerror.Error{
			Reason: metav1alpha1.ReasonRetrying, Message: fmt.Sprintf("read %s %s: %v", r.Kind, name, err),
		}
	}
	data, err := dataOf(obj, r.Kind)
	if err != nil {
		return err
	}
	if err := budget.Reserve(ctx, sizeOf(data)); err != nil {
		return err
	}
	r.content.version = obj.GetResourceVersion()
	return r.SetData(data)
}

// get reads the object. It is read as unstructured, because the author's scheme may not have its type. A response that
// is older than the version that the watch shows is not used, because no watch event would correct it. The object is
// read once more then.
func (r *Reference) get(ctx context.Context, t target.Target) (*unstructured.Unstructured, error) {
	objects := t.Local.Dynamic.Resource(r.watched.Resource).Namespace(r.Namespace)
	for range 2 {
		obj, err := objects.Get(ctx, r.Name, metav1.GetOptions{})
		if err != nil || !inspect.Older(obj.GetResourceVersion(), r.content.version) {
			return obj, err
		}
	}
	return nil, errOutdated
}

var errOutdated = errors.New("the API server returned an older version than its watch")

// sizeOf returns an estimate of the memory of data: the data, and the text and its digest that are made of it.
func sizeOf(data map[string][]byte) int64 {
	const copies = 3
	sum := 0
	for key, content := range data {
		sum += len(key) + len(content)
	}
	return int64(copies * sum)
}

// SetData replaces the data of a reference.
func (r *Reference) SetData(data map[string][]byte) (err error) {
	if r.isComponent() {
		return r.SetExports(data)
	}
	r.data = data
	if !r.source && !r.credential {
		r.content.values = valuesOfData(r.Reference, data)
	}
	r.content.digest, err = digestOf(data)
	return err
}

// Data returns the data that Read or SetData set, or nil if neither was called.
func (r *Reference) Data() map[string][]byte { return r.data }

// dataOf returns the data of a Secret, or the data and binaryData of a ConfigMap.
func dataOf(obj *unstructured.Unstructured, kind metav1alpha1.ReferenceKind) (map[string][]byte, error) {
	if kind == metav1alpha1.SecretReference {
		var secret corev1.Secret
		err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &secret)
		return secret.Data, err
	}
	var c corev1.ConfigMap
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &c); err != nil {
		return nil, err
	}
	data := make(map[string][]byte, len(c.Data)+len(c.BinaryData))
	for key, text := range c.Data {
		data[key] = []byte(text)
	}
	maps.Copy(data, c.BinaryData)
	return data, nil
}

// Load returns the contents of references, and reads the data of references whose data was not read before.
func Load(ctx context.Context, t target.Target, refs []Reference) (generator.References, error) {
	contents := make(generator.References, len(refs))
	for i := range refs {
		if refs[i].data == nil {
			if err := refs[i].Read(ctx, t); err != nil {
				return nil, err
			}
		}
		contents[refs[i].Reference] = refs[i].data
	}
	return contents, missingExports(refs)
}
