package bundle

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Bundle is a component with the objects to which it refers.
type Bundle struct {
	// Objects are sorted so that they can be created in this order. The last object is the component.
	Objects []*unstructured.Unstructured
	// Missing contains a sentence for each object that is not included, but must exist in the other cluster.
	Missing []string
	// Secrets reports whether Objects contains Secrets.
	Secrets bool
}

// Reader reads objects.
type Reader interface {
	Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error
}

// Collect reads the objects that a component of the ready-made operator refers to. Secrets are included only if
// withSecrets is true.
func Collect(ctx context.Context, reader Reader, obj *unstructured.Unstructured, withSecrets bool) (Bundle, error) {
	component := &v1alpha1.Component{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, component); err != nil {
		return Bundle{}, err
	}
	var b Bundle
	for _, ref := range references(component) {
		if err := b.add(ctx, reader, component.Namespace, ref, withSecrets); err != nil {
			return Bundle{}, err
		}
	}
	b.Missing = append(b.Missing, objectsOfInputs(component)...)
	if account := component.Spec.ServiceAccount; account != "" {
		b.Missing = append(b.Missing, fmt.Sprintf("ServiceAccount %s/%s and its roles are not included", component.Namespace,
			account))
	}
	portable := Portable(obj)
	if _, listed, _ := unstructured.NestedSlice(portable.Object, "spec", "adopt"); listed {
		// The entries name objects of this cluster. An empty list permits nothing.
		if err := unstructured.SetNestedSlice(portable.Object, []any{}, "spec", "adopt"); err != nil {
			return Bundle{}, err
		}
	}
	b.Objects = append(b.Objects, portable)
	return b, nil
}

// references returns the references of the rendering, the kubeconfig of the target, and the Secret of signed calls.
func references(component *v1alpha1.Component) []metav1alpha1.Reference {
	refs := component.References()
	if kubeconfig := component.Spec.KubeConfig(); kubeconfig != nil {
		refs = append(refs, metav1alpha1.Reference{
			Kind: metav1alpha1.SecretReference, Name: kubeconfig.Name,
			Credential: true,
		})
	}
	if webhook := component.Spec.Webhook; webhook != nil {
		secret := metav1alpha1.Reference{Kind: metav1alpha1.SecretReference, Name: webhook.SecretRef.Name}
		isSame := func(ref metav1alpha1.Reference) bool { return ref.Kind == secret.Kind && ref.Name == secret.Name }
		if !slices.ContainsFunc(refs, isSame) {
			refs = append(refs, secret)
		}
	}
	return refs
}

// objectsOfInputs returns a sentence for each object in spec.inputs. The objects belong to others, so that a bundle
// does not include them.
func objectsOfInputs(component *v1alpha1.Component) []string {
	var sentences []string
	for _, input := range component.Spec.Inputs {
		if o := input.Object; o != nil {
			sentences = append(sentences, fmt.Sprintf("%s is not included, but this component reads it as the input %s",
				o.Title(), input.Name))
		}
	}
	return sentences
}

func (b *Bundle) add(
	ctx context.Context, reader Reader, namespace string, ref metav1alpha1.Reference, withSecrets bool,
) error {
	name := fmt.Sprintf("%s %s/%s", ref.Kind, namespace, ref.Name)
	if ref.Kind == metav1alpha1.SecretReference && !withSecrets {
		b.Missing = append(b.Missing, name+" is not included; create it in the other cluster, or export with --with-secrets")
		return nil
	}
	if ref.Kind == metav1alpha1.ComponentReference {
		b.Missing = append(b.Missing, name+" is not included, but this component reads its export "+ref.Export)
		return nil
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(string(ref.Kind)))
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, obj)
	if apierrors.IsNotFound(err) {
		if !ref.Optional {
			b.Missing = append(b.Missing, name+" is not included, because it does not exist in this cluster")
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	b.Secrets = b.Secrets || ref.Kind == metav1alpha1.SecretReference
	b.Objects = append(b.Objects, Portable(obj))
	return nil
}

// localAnnotations are annotations that are only valid in the cluster of an object, such as requests to the operator
// and the owner of a dependent. A copy with an owner would be treated as a dependent of the owner's component.
var localAnnotations = []string{
	"kubectl.kubernetes.io/last-applied-configuration", "fairlead.io/reconcile-requested-at",
	"fairlead.io/reconcile-acknowledge", "fairlead.io/accept-unknown",
	"fairlead.io/" + manifests.AnnotationOwnerID, "fairlead.io/" + marks.AnnotationDigest,
	"fairlead.io/" + marks.AnnotationObject,
	"fairlead.io/" + marks.AnnotationIgnoredByOption, "fairlead.io/" + marks.AnnotationIgnoredBySpec,
	"fairlead.io/" + marks.AnnotationReleasedBy,
}

// Portable returns a copy of an object without status and without fields that are only valid in its cluster.
func Portable(obj *unstructured.Unstructured) *unstructured.Unstructured {
	portable := &unstructured.Unstructured{Object: map[string]any{}}
	for field, value := range obj.DeepCopy().Object {
		if field != "metadata" && field != "status" {
			portable.Object[field] = value
		}
	}
	portable.SetNamespace(obj.GetNamespace())
	portable.SetName(obj.GetName())
	labels := obj.GetLabels()
	delete(labels, "fairlead.io/"+manifests.LabelOwnerID)
	if len(labels) > 0 {
		portable.SetLabels(labels)
	}
	annotations := obj.GetAnnotations()
	for _, key := range localAnnotations {
		delete(annotations, key)
	}
	if len(annotations) > 0 {
		portable.SetAnnotations(annotations)
	}
	return portable
}

// FileName returns the name of the file to which Save writes an object.
func FileName(obj *unstructured.Unstructured) string {
	return strings.ToLower(obj.GetKind()) + "-" + obj.GetName() + ".yaml"
}
