package target

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Target is the cluster in which the dependents of a component are, with the identity that writes them.
type Target struct {
	// Client acts on the dependents as the identity of the component. Local acts in the component's own cluster, as its
	// identity there. Both are the same without a kubeconfig.
	Client, Local *Client
	// Cluster identifies the cluster of the dependents; empty for the component's own.
	Cluster string
	// Kubeconfig is the Secret with the kubeconfig if it was read to acquire the target, nil otherwise.
	Kubeconfig *unstructured.Unstructured
}

// On returns the client for the component's own cluster if local is set, and otherwise the client for the cluster of
// the dependents.
func (t Target) On(local bool) *Client {
	if local {
		return t.Local
	}
	return t.Client
}

// CheckCluster returns an error if recorded dependents are in another cluster than the target, because in the target
// they would seem to be gone. The argument status is the status of the component, and dependents is the number of
// recorded dependents.
func (t Target) CheckCluster(status *metav1alpha1.Status, dependents int) error {
	if status.Revision == 0 || dependents == 0 || status.TargetCluster == t.Cluster {
		return nil
	}
	name := func(cluster string) string {
		if cluster == "" {
			return "the component's own cluster"
		}
		return "cluster " + cluster
	}
	return condition.InvalidSpec(fmt.Errorf(
		"%d dependents exist in %s, and the target is %s now (the UID of the namespace kube-system identifies a cluster); "+
			"point the component back to the former cluster, or delete it while it points there",
		dependents, name(status.TargetCluster), name(t.Cluster)))
}

// Request names a component and what it declares about its target.
type Request struct {
	Name  types.NamespacedName
	Owner manifests.Owner
	Declaration
}

// Resolver acquires the targets of components.
type Resolver struct {
	// Local is the cluster of the components, and Remotes are the other clusters.
	Local   *Connection
	Remotes *Remotes
	// References watches the Secrets with kubeconfigs.
	References *observe.References
	// DefaultServiceAccount is the account of components that declare no identity; empty for the operator itself.
	DefaultServiceAccount string
	Clock                 clock.PassiveClock
	// Wake starts a pass over a component.
	Wake func(types.NamespacedName)
}

// Acquire returns the target of a component, and releases a former target in another cluster. The Secret of a
// kubeconfig is watched: new content takes effect at once. The error is condition.ErrObserving until the watch has
// delivered the Secret.
func (r *Resolver) Acquire(ctx context.Context, req Request) (Target, error) {
	identity, err := req.Identity(req.Name.Namespace, r.DefaultServiceAccount)
	if err != nil {
		return Target{}, condition.InvalidSpec(err)
	}
	local, err := r.Local.As(identity)
	if err != nil {
		return Target{}, err
	}
	if req.KubeConfig == nil {
		r.Release(req.Owner)
		return Target{Client: local, Local: local}, nil
	}
	r.Local.Release(req.Owner)
	return r.acquireRemote(ctx, req, local)
}

// Release ends the use of another cluster by a component.
func (r *Resolver) Release(owner manifests.Owner) {
	r.Remotes.release(types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name}, owner)
	r.References.Release(owner.ID())
}

func (r *Resolver) acquireRemote(ctx context.Context, req Request, local *Client) (Target, error) {
	ref, namespace := *req.KubeConfig, req.Name.Namespace
	secret := observe.Reference{
		Resource: corev1.SchemeGroupVersion.WithResource("secrets"), Namespace: namespace, Name: ref.Name,
	}
	r.References.Watch(req.Owner.ID(), observe.Reader{}, []observe.Reference{secret}, func() { r.Wake(req.Name) })
	version, known, failure := r.References.Version(observe.Reader{}, secret)
	switch {
	case failure != observe.Failure{}:
		return Target{}, condition.Unwatched(
			fmt.Sprintf("Secret %s/%s", namespace, ref.Name),
			failure.Message,
			failure.Forbidden,
		)
	case !known:
		return Target{}, condition.ErrObserving
	}
	from := origin{secret: ref.Name, key: cmp.Or(ref.Key, metav1alpha1.DefaultKubeConfigKey), version: version}
	acquired, ok := r.Remotes.used(req.Name, from)
	var read *unstructured.Unstructured
	if !ok {
		var err error
		if acquired, read, err = r.connect(ctx, req, from); err != nil {
			return Target{Local: local, Kubeconfig: read}, err
		}
	}
	cluster, err := acquired.identify(ctx, r.Clock)
	if err != nil {
		return Target{Local: local, Kubeconfig: read}, unidentified(namespace, ref.Name, err)
	}
	found := At(acquired.connection, cluster, req.Owner.Cluster)
	found.Local, found.Kubeconfig = local, read
	return found, nil
}

// At returns the target that a kubeconfig leads to, given the id of that cluster and of the component's own.
func At(connection *Connection, cluster, own string) Target {
	client := connection.Own()
	if cluster == own {
		cluster = ""
	}
	client.RemoteTarget = cluster != ""
	return Target{Client: client, Cluster: cluster}
}

// connect reads a kubeconfig, as the operator, and makes the component use its cluster.
func (r *Resolver) connect(ctx context.Context, req Request, from origin) (*remote, *unstructured.Unstructured, error) {
	namespace := req.Name.Namespace
	secrets := r.Local.own.Dynamic.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(namespace)
	secret, err := secrets.Get(ctx, from.secret, metav1.GetOptions{})
	if apierrors.IsForbidden(err) {
		return nil, nil, condition.Forbidden("read the kubeconfig", "", err)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, nil, &condition.Error{
			Reason: metav1alpha1.ReasonRetrying, Message: fmt.Sprintf("read the kubeconfig: %v", err),
		}
	}
	unusable := func(reason, format string, args ...any) error {
		r.Remotes.release(req.Name, req.Owner)
		message := fmt.Sprintf(
			"Secret %s/%s with the kubeconfig ",
			namespace,
			from.secret,
		) + fmt.Sprintf(
			format,
			args...)
		return &condition.Error{Reason: reason, Terminal: true, Message: message}
	}
	if err != nil {
		return nil, nil, unusable(metav1alpha1.ReasonReferenceNotFound, "does not exist; create it")
	}
	kubeconfig, ok, err := dataOf(secret, from.key)
	if err != nil {
		return nil, secret, err
	}
	if !ok {
		return nil, secret, unusable(
			metav1alpha1.ReasonReferenceNotFound,
			"has no key %q; add it, or name another key",
			from.key,
		)
	}
	acquired, err := r.Remotes.acquire(req.Name, req.Owner, from, kubeconfig)
	if err != nil {
		return nil, secret, unusable(metav1alpha1.ReasonInvalidSpec, "cannot be used: %v", err)
	}
	return acquired, secret, nil
}

func dataOf(secret *unstructured.Unstructured, key string) (data []byte, ok bool, err error) {
	var typed corev1.Secret
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(secret.Object, &typed); err != nil {
		return nil, false, err
	}
	data, ok = typed.Data[key]
	return data, ok, nil
}

// Identify returns the id of the cluster that the kubeconfig of a Secret leads to.
func Identify(
	ctx context.Context,
	connection *Connection,
	c clock.PassiveClock,
	namespace, secret string,
) (string, error) {
	cluster, err := (&remote{connection: connection}).identify(ctx, c)
	if err != nil {
		return "", unidentified(namespace, secret, err)
	}
	return cluster, nil
}

// unidentified returns the error for a cluster whose id cannot be read.
func unidentified(namespace, secret string, err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return &condition.Error{
			Reason: metav1alpha1.ReasonForbidden, Terminal: true, Message: fmt.Sprintf(
				"the cluster of the kubeconfig in Secret %s/%s refuses its user: %v; renew the credentials, or grant the right",
				namespace,
				secret,
				err,
			),
		}
	}
	return &condition.Error{
		Reason: metav1alpha1.ReasonRetrying,
		Message: fmt.Sprintf(
			"the cluster of the kubeconfig in Secret %s/%s cannot be reached: %v",
			namespace,
			secret,
			err,
		),
	}
}
