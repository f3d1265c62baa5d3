package cluster

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// Object is an object that exists in a cluster.
type Object struct {
	Cluster *Cluster
	Target  Target
	Live    *unstructured.Unstructured
}

// ConnectTo connects to the cluster of the flags, and resolves the type of the object in reference, which has the form
// NAME or TYPE/NAME. The object need not exist.
func ConnectTo(flags *genericclioptions.ConfigFlags, reference string) (*Cluster, Target, error) {
	ref, err := ParseReference(reference)
	if err != nil {
		return nil, Target{}, err
	}
	c, err := Connect(flags)
	if err != nil {
		return nil, Target{}, err
	}
	target, err := c.Resolve(ref)
	return c, target, err
}

// Managed is a component whose reconciler is known, so that its annotations can be written.
type Managed struct {
	Object
	Status metav1alpha1.Status
	// Reconciler is the name of the component's reconciler, and the prefix of the annotations that its operator reads.
	Reconciler string
}

// Managed reads the status of a component and the name of its reconciler. It returns an error if neither the status nor
// the type determines the name.
func (o Object) Managed() (Managed, error) {
	status, err := StatusIfAny(o.Target, o.Live)
	if err != nil {
		return Managed{}, err
	}
	reconciler, err := Reconciler(o.Target, status)
	return Managed{o, status, reconciler}, err
}

// RequestReconcile requests a pass from the operator. If acknowledge is true, it also requests that the operator writes
// the token of the request in the status afterwards. It returns the component after the write, and the token.
func (m Managed) RequestReconcile(
	ctx context.Context, acknowledge bool,
) (after *unstructured.Unstructured, request string, err error) {
	request = time.Now().UTC().Format(time.RFC3339Nano)
	annotations := map[string]string{m.Annotation(metav1alpha1.AnnotationReconcileRequested): request}
	if acknowledge {
		annotations[m.Annotation(metav1alpha1.AnnotationReconcileAcknowledge)] = request
	}
	after, err = m.Cluster.Annotate(ctx, m.Live, annotations)
	return after, request, err
}

// Annotation returns the key of an annotation that the component's operator reads.
func (m Managed) Annotation(name string) string { return m.Reconciler + "/" + name }

// IsSuspended reports whether the spec suspends the component, or the operator reports it as suspended for the current
// generation.
func (m Managed) IsSuspended() bool {
	suspend, _, _ := unstructured.NestedBool(m.Live.Object, "spec", "suspend")
	return suspend || m.Status.State == metav1alpha1.StateSuspended &&
		m.Status.ObservedGeneration >= m.Live.GetGeneration()
}
