package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/plural"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Target is the cluster in which the dependents of a component are, with the identity that writes them.
type Target struct {
	// Client is the client for the cluster of the dependents, and Local is the client for the component's own cluster,
	// each with the identity of the component in that cluster. Without a kubeconfig, both are the same.
	Client, Local *Client
	// Cluster is the id of the cluster of the dependents, empty if it is the component's own cluster.
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

// CheckCluster returns an error if recorded dependents are in another cluster than the target, because these dependents
// do not exist in the target and would be mistaken for deleted objects. The argument status is the status of the
// component, and dependents is the number of recorded dependents.
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
	return passerror.Placement(
		"the component has %s in %s, but the target is now %s (the UID of the namespace kube-system identifies a cluster); "+
			"point the component back to the previous cluster; to move it, create another component for the new cluster "+
			"first, and delete this one while it points to the previous cluster, which deletes its dependents there, with what "+
			"only that cluster has of them",
		plural.Of(dependents, "dependent"), name(status.TargetCluster), name(t.Cluster))
}

// Request contains the name, the owner and the target declaration of a component.
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
	// DefaultServiceAccount is the service account of components that declare no identity. If it is empty, they use the
	// operator's identity.
	DefaultServiceAccount string
	// Turns are the slots for passes over components with a kubeconfig, so that clusters that do not respond occupy only a
	// part of the workers. nil means no limit.
	Turns *Turns
	// Wake starts a pass over a component.
	Wake func(types.NamespacedName)
}

// Acquire returns the target of a component, and releases a previous target in another cluster. The Secret with the
// kubeconfig is watched, so that new content takes effect at once. The error is passerror.ErrObserving until the watch
// is in sync, until the other cluster is identified, and until the component has its turn among the components with
// kubeconfigs.
func (r *Resolver) Acquire(ctx context.Context, req Request) (Target, error) {
	identity, err := req.Identity(req.Name.Namespace, r.DefaultServiceAccount)
	if err != nil {
		return Target{}, passerror.InvalidSpec(err)
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

// Release ends a component's use of another cluster.
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
		return Target{}, passerror.Unwatched(
			fmt.Sprintf("Secret %s/%s", namespace, ref.Name),
			failure.Message,
			failure.Forbidden,
		)
	case !known:
		return Target{}, passerror.ErrObserving
	}
	from := origin{secret: ref.Name, key: cmp.Or(ref.Key, metav1alpha1.DefaultKubeConfigKey), version: version}
	acquired, ok := r.Remotes.used(req.Name, from)
	var read *unstructured.Unstructured
	if !ok {
		var err error
		if acquired, read, err = r.connect(ctx, req, local, from); err != nil {
			return Target{Local: local, Kubeconfig: read}, err
		}
	}
	cluster, err := r.Remotes.identify(req.Name, acquired, func() { r.Wake(req.Name) })
	if err != nil {
		return Target{Local: local, Kubeconfig: read}, unidentified(namespace, ref.Name, err)
	}
	if !r.Turns.Take(req.Name) {
		return Target{Local: local, Kubeconfig: read}, passerror.ErrObserving
	}
	found := At(acquired.connection, cluster, req.Owner.Cluster)
	found.Local, found.Kubeconfig = local, read
	return found, nil
}

// At returns the target of a connection that was made with a kubeconfig. cluster is the id of the connected cluster,
// and own is the id of the component's own cluster.
func At(connection *Connection, cluster, own string) Target {
	client := connection.Own()
	if cluster == own {
		cluster = ""
	}
	client.RemoteTarget = cluster != ""
	return Target{Client: client, Cluster: cluster}
}

// connect reads a kubeconfig, and makes the component use the cluster of the kubeconfig. It reads with the identity of
// the component, because the Secret may contain credentials that the author of the component may not use.
func (r *Resolver) connect(
	ctx context.Context, req Request, local *Client, from origin,
) (*remote, *unstructured.Unstructured, error) {
	namespace := req.Name.Namespace
	secrets := local.Dynamic.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(namespace)
	secret, err := secrets.Get(ctx, from.secret, metav1.GetOptions{})
	if apierrors.IsForbidden(err) {
		r.Remotes.release(req.Name, req.Owner)
		action := fmt.Sprintf("read Secret %s/%s with the kubeconfig", namespace, from.secret)
		return nil, nil, passerror.Forbidden(action, local.User, err)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, nil, &passerror.Error{
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
		return &passerror.Error{Reason: reason, Terminal: true, Message: message}
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

// Identify requests the id of the cluster of a connection. The namespace and name of the Secret with the kubeconfig are
// used in errors.
func Identify(
	ctx context.Context,
	connection *Connection,
	namespace, secret string,
) (string, error) {
	cluster, err := clusterID(ctx, connection)
	if err != nil {
		return "", unidentified(namespace, secret, err)
	}
	return cluster, nil
}

// unidentified returns the error for a cluster whose id cannot be read. It returns passerror.ErrObserving unchanged.
func unidentified(namespace, secret string, err error) error {
	if errors.Is(err, passerror.ErrObserving) {
		return err
	}
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return &passerror.Error{
			Reason: metav1alpha1.ReasonForbidden, Terminal: true, Message: fmt.Sprintf(
				"the cluster of the kubeconfig in Secret %s/%s refuses its user: %v; renew the credentials, or grant the right",
				namespace,
				secret,
				err,
			),
		}
	}
	found := &passerror.Error{
		Reason: metav1alpha1.ReasonRetrying,
		Message: fmt.Sprintf(
			"the cluster of the kubeconfig in Secret %s/%s cannot be reached: %v",
			namespace,
			secret,
			err,
		),
	}
	if waits, ok := errors.AsType[*unknown](err); ok {
		found.RetryAfter = waits.after
	}
	return found
}
