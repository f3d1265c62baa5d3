package component

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// target is where the dependents of a component are, and who writes them there.
type target struct {
	// engine acts on the dependents as the component's identity.
	engine *Engine
	// local acts in the cluster where components live, as the component's identity there.
	local *Engine
	// cluster identifies the cluster; it is empty where that is the component's own.
	cluster string
	// observing says that the Secret of the kubeconfig was not seen yet; then nothing else is known.
	observing bool
}

// target finds the target of a component.
func (r *Reconciler[T]) target(ctx context.Context, component T) (target, error) {
	identity, ref, err := identityOf(component, r.options.DefaultServiceAccount)
	if err != nil {
		return target{}, condition.InvalidSpec(err)
	}
	owner, err := r.owners.Of(ctx, component)
	if err != nil {
		return target{}, err
	}
	local, err := r.local.As(identity)
	if err != nil {
		return target{}, err
	}
	if ref == nil {
		r.leaveRemote(owner)
		return target{engine: local, local: local}, nil
	}
	r.local.Forget(owner)
	found, err := r.remoteTarget(ctx, component, owner, *ref)
	found.local = local
	return found, err
}

// leaveRemote ends what serves a component in another cluster.
func (r *Reconciler[T]) leaveRemote(owner manifests.Owner) {
	r.remotes.release(client.ObjectKey{Namespace: owner.Namespace, Name: owner.Name}, owner)
	r.inputs.Release(owner.ID())
}

// remoteTarget finds the cluster of a kubeconfig. The Secret is watched: a new content takes effect at once, and one that is gone ends all
// use of what it held.
func (r *Reconciler[T]) remoteTarget(ctx context.Context, component T, owner manifests.Owner, ref metav1alpha1.KubeConfigReference) (target, error) {
	fill(&ref.Key, metav1alpha1.DefaultKubeConfigKey)
	name := client.ObjectKey{Namespace: owner.Namespace, Name: owner.Name}
	watched := watchedReference(owner.Namespace, metav1alpha1.Reference{Kind: metav1alpha1.SecretReference, Name: ref.Name})
	r.inputs.Watch(owner.ID(), observe.Reader{}, []observe.Reference{watched}, func() { r.wake(name) })
	version, known, failure := r.inputs.Version(observe.Reader{}, watched)
	switch {
	case failure != observe.Failure{}:
		return target{}, unwatched(fmt.Sprintf("Secret %s/%s", owner.Namespace, ref.Name), failure)
	case !known:
		return target{observing: true}, nil
	}
	from := origin{secret: ref.Name, key: ref.Key, version: version}
	remote, ok := r.remotes.used(name, from)
	if !ok {
		var err error
		if remote, err = r.enterRemote(ctx, component, owner, from); err != nil {
			return target{}, err
		}
	}
	cluster, err := remote.identify(ctx, r.clock)
	if err != nil {
		return target{}, unidentified(owner.Namespace, ref.Name, err)
	}
	return targetAt(remote.engine, cluster, owner.Cluster), nil
}

// targetAt returns the target that a kubeconfig leads to, given the cluster that it is and the component's own.
func targetAt(found *Engine, cluster, own string) target {
	engine := *found
	if cluster == own {
		cluster = ""
	}
	engine.elsewhere = cluster != ""
	return target{engine: &engine, cluster: cluster}
}

// enterRemote reads a kubeconfig, as the operator, and makes the component use it.
func (r *Reconciler[T]) enterRemote(ctx context.Context, component T, owner manifests.Owner, from origin) (*remote, error) {
	name := client.ObjectKeyFromObject(component)
	secrets := r.local.watching.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(owner.Namespace)
	obj, err := secrets.Get(ctx, from.secret, metav1.GetOptions{})
	if apierrors.IsForbidden(err) {
		return nil, condition.Forbidden("read the kubeconfig", r.local.user, err)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, &condition.Error{Reason: metav1alpha1.ReasonRetrying, Message: fmt.Sprintf("read the kubeconfig: %v", err)}
	}
	unusable := func(reason, format string, args ...any) (*remote, error) {
		r.remotes.release(name, owner)
		message := fmt.Sprintf("Secret %s/%s with the kubeconfig ", owner.Namespace, from.secret) + fmt.Sprintf(format, args...)
		return nil, &condition.Error{Reason: reason, Terminal: true, Message: message}
	}
	if err != nil {
		return unusable(metav1alpha1.ReasonReferenceNotFound, "does not exist; create it")
	}
	r.checkKubeconfig(component, owner, obj)
	data, err := referencedData(obj, metav1alpha1.SecretReference)
	if err != nil {
		return nil, err
	}
	kubeconfig, ok := data[from.key]
	if !ok {
		return unusable(metav1alpha1.ReasonReferenceNotFound, "has no key %q; add it, or name another key", from.key)
	}
	entered, err := r.remotes.enter(name, owner, from, kubeconfig)
	if err != nil {
		return unusable(metav1alpha1.ReasonInvalidSpec, "cannot be used: %v", err)
	}
	return entered, nil
}

// unidentified says why it is not known which cluster a kubeconfig leads to.
func unidentified(namespace, secret string, err error) error {
	p := &condition.Error{
		Reason:  metav1alpha1.ReasonRetrying,
		Message: fmt.Sprintf("the cluster of the kubeconfig in Secret %s/%s cannot be reached: %v", namespace, secret, err),
	}
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		p.Reason, p.Terminal = metav1alpha1.ReasonForbidden, true
		p.Message = fmt.Sprintf("the cluster of the kubeconfig in Secret %s/%s refuses its user: %v; renew the credentials, or allow that", namespace, secret, err)
	}
	return p
}

// checkCluster refuses to look for dependents where they never were: there they would seem to be gone.
func checkCluster(status *metav1alpha1.Status, t target, dependents int) error {
	if status.Revision == 0 || dependents == 0 || status.TargetCluster == t.cluster {
		return nil
	}
	const own = "the component's own cluster"
	former, current := own, own
	if status.TargetCluster != "" {
		former = "cluster " + status.TargetCluster
	}
	if t.cluster != "" {
		current = "cluster " + t.cluster
	}
	return condition.InvalidSpec(errors.New(fmt.Sprintf("%d dependents exist in %s, and the target is %s now (the UID of the namespace kube-system tells); ", dependents, former, current) +
		"point it back, or delete the component while it points there"))
}
