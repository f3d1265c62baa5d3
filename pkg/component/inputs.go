package component

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// inputs are what a rendering is made from.
type inputs struct {
	target          target
	namespace, name string
	parameters      map[string]any
	references      []reference
	// source is nil for a component that has none of its own.
	source *metav1alpha1.SourceReference
	// managed are the additional managed types: they have their say in the order.
	managed []manifests.ManagedType
	digest  string
	// observing says that a watch on references, or on the Secret of a kubeconfig, has not delivered yet.
	observing bool
}

// standing says that the inputs are those of the revision that the status tells of.
func (in inputs) standing(status *metav1alpha1.Status) bool { return status.InputDigest == in.digest }

// reference is a referenced object. Its data is read when it is needed: as long as the resource version stands, the digest is enough.
type reference struct {
	generator.Reference
	watched observe.Reference
	content content
	data    map[string][]byte
	// credential says that the content is no input of the rendering.
	credential bool
}

// content identifies the content of a referenced object in a resource version.
type content struct {
	version, digest string
}

// readInputs finds the target, and collects the inputs of a rendering and their digest.
func (r *Reconciler[T]) readInputs(ctx context.Context, component T) (inputs, error) {
	defer r.vitals.meter.Time(metrics.StepInputs)()
	t, err := r.target(ctx, component)
	if err != nil || t.observing {
		return inputs{observing: t.observing}, err
	}
	in, err := r.declaredInputs(component, t)
	if err != nil {
		return inputs{}, err
	}
	in.references, in.observing, err = r.readReferences(ctx, component, t)
	if err != nil || in.observing {
		return in, err
	}
	in.digest, err = r.inputDigest(component, in)
	return in, err
}

// declaredInputs returns what a component itself says of its inputs.
func (r *Reconciler[T]) declaredInputs(component T, t target) (inputs, error) {
	in := inputs{target: t, namespace: component.GetNamespace(), name: component.GetName()}
	var err error
	if p, ok := any(component).(Placer); ok {
		in.namespace, in.name = p.Placement()
	}
	if in.parameters, err = component.GetParameters(); err != nil {
		return inputs{}, condition.InvalidSpec(err)
	}
	if in.managed, err = declaredTypes(component); err != nil {
		return inputs{}, condition.InvalidSpec(err)
	}
	in.source, err = r.sourceOf(component)
	return in, err
}

// readReferences finds out in which version each reference exists, and reads those that are new.
func (r *Reconciler[T]) readReferences(ctx context.Context, component T, t target) (refs []reference, observing bool, err error) {
	holder, ok := any(component).(ReferenceHolder)
	if !ok {
		return nil, false, nil
	}
	wanted := holder.References()
	name := client.ObjectKeyFromObject(component)
	watched := make([]observe.Reference, 0, len(wanted))
	for _, w := range wanted {
		watched = append(watched, watchedReference(name.Namespace, w))
	}
	r.inputs.Watch(name.String(), t.local.viewer, watched, func() { r.wake(name) })
	var missing []string
	for i, w := range wanted {
		version, known, failure := r.inputs.Version(t.local.viewer, watched[i])
		switch {
		case failure != observe.Failure{}:
			return nil, false, unwatched(fmt.Sprintf("%s %s/%s", w.Kind, name.Namespace, w.Name), failure)
		case !known:
			observing = true
		case version == "" && !w.Optional:
			missing = append(missing, fmt.Sprintf("%s %s/%s does not exist", w.Kind, name.Namespace, w.Name))
		case version != "":
			ref := reference{
				Reference: generator.Reference{Kind: w.Kind, Namespace: name.Namespace, Name: w.Name},
				watched:   watched[i], content: content{version: version}, credential: w.Credential,
			}
			refs = append(refs, ref)
		}
	}
	if observing || len(missing) > 0 {
		return nil, observing, missingReferences(missing)
	}
	return refs, false, r.identify(ctx, name, t, refs)
}

// unwatched says why it is not known whether an object exists.
func unwatched(what string, f observe.Failure) error {
	p := &condition.Error{Reason: metav1alpha1.ReasonRetrying, Message: what + ": " + f.Message}
	if f.Forbidden {
		p.Reason, p.Terminal = metav1alpha1.ReasonForbidden, true
	}
	return p
}

func missingReferences(missing []string) error {
	if len(missing) == 0 {
		return nil
	}
	return &condition.Error{
		Reason: metav1alpha1.ReasonReferenceNotFound, Terminal: true,
		Message: strings.Join(missing, "; ") + "; create it, or mark the reference as optional",
	}
}

func watchedReference(namespace string, ref metav1alpha1.Reference) observe.Reference {
	resource := "configmaps"
	if ref.Kind == metav1alpha1.SecretReference {
		resource = "secrets"
	}
	return observe.Reference{Resource: corev1.SchemeGroupVersion.WithResource(resource), Namespace: namespace, Name: ref.Name}
}

// identify finds the digest of each reference: from memory where its version is known, from its data otherwise.
func (r *Reconciler[T]) identify(ctx context.Context, name types.NamespacedName, t target, refs []reference) error {
	known := r.contents.of(name)
	contents := make(map[observe.Reference]content, len(refs))
	for i := range refs {
		ref := &refs[i]
		if c, ok := known[ref.watched]; ok && c.version == ref.content.version {
			ref.content = c
		} else if err := t.read(ctx, ref); err != nil {
			return err
		}
		contents[ref.watched] = ref.content
	}
	r.contents.enter(name, contents)
	return nil
}

// read fetches the data of a reference, as the component: nobody reads through it what its identity may not read.
func (t target) read(ctx context.Context, ref *reference) error {
	name := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	// Secrets and ConfigMaps look alike, and an author's scheme need not know them.
	obj, err := t.local.dynamic.Resource(ref.watched.Resource).Namespace(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return missingReferences([]string{fmt.Sprintf("%s %s does not exist", ref.Kind, name)})
	}
	if apierrors.IsForbidden(err) {
		return condition.Forbidden(fmt.Sprintf("read %s %s", ref.Kind, name), t.local.user, err)
	}
	if err != nil {
		return &condition.Error{Reason: metav1alpha1.ReasonRetrying, Message: fmt.Sprintf("read %s %s: %v", ref.Kind, name, err)}
	}
	if ref.data, err = referencedData(obj, ref.Kind); err != nil {
		return err
	}
	ref.content.version = obj.GetResourceVersion()
	ref.content.digest, err = contentDigest(ref.data)
	return err
}

// referencedData returns the data of a Secret, or the data and binaryData of a ConfigMap.
func referencedData(obj *unstructured.Unstructured, kind metav1alpha1.ReferenceKind) (map[string][]byte, error) {
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

// loadReferences returns the contents of all references, reading those that are not at hand.
func (t target) loadReferences(ctx context.Context, refs []reference) (generator.References, error) {
	contents := make(generator.References, len(refs))
	for i := range refs {
		if refs[i].data == nil {
			if err := t.read(ctx, &refs[i]); err != nil {
				return nil, err
			}
		}
		contents[refs[i].Reference] = refs[i].data
	}
	return contents, nil
}

// inputDigest identifies the inputs: where the component is placed, its spec or what it declares as inputs, its source, its references,
// and the generator.
func (r *Reconciler[T]) inputDigest(component T, in inputs) (string, error) {
	spec, err := renderInputs(component)
	if err != nil {
		return "", err
	}
	parts := []any{in.namespace, in.name, in.parameters, spec}
	for _, ref := range in.references {
		if !ref.credential {
			parts = append(parts, ref.Reference, ref.content.digest)
		}
	}
	if in.source != nil {
		parts = append(parts, in.source.SHA256)
	}
	for _, t := range in.managed {
		parts = append(parts, t.String())
	}
	return contentDigest(append(parts, generatorVersion(r.generator)))
}

func renderInputs(component Component) (any, error) {
	if s, ok := component.(InputSelector); ok {
		return s.RenderInputs(), nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(component)
	if err != nil {
		return nil, err
	}
	return content["spec"], nil
}

func contentDigest(value any) (string, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16]), nil
}
