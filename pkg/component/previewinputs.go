package component

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/transport"
	"github.com/fairlead-io/fairlead/pkg/generator"

	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
)

// readInputs reads what the rendering is made from. A reconciler watches it instead.
func (v *previewing[T]) readInputs(ctx context.Context) (inputs, error) {
	t, err := v.target(ctx)
	if err != nil {
		return inputs{}, err
	}
	in, err := v.declaredInputs(v.component, t)
	if err != nil {
		return inputs{}, err
	}
	if in.references, err = v.references(ctx, t); err != nil {
		return inputs{}, err
	}
	in.digest, err = v.inputDigest(v.component, in)
	return in, err
}

// references reads what the component references. What it only needs to get to its target is none of a preview's business.
func (v *previewing[T]) references(ctx context.Context, t target) ([]reference, error) {
	holder, ok := any(v.component).(ReferenceHolder)
	if !ok {
		return nil, nil
	}
	var refs []reference
	for _, wanted := range holder.References() {
		if wanted.Credential {
			continue
		}
		ref := reference{
			Reference: generator.Reference{Kind: wanted.Kind, Namespace: v.component.GetNamespace(), Name: wanted.Name},
			watched:   watchedReference(v.component.GetNamespace(), wanted),
		}
		found, err := v.read(ctx, t, &ref, wanted.Optional)
		if err != nil {
			return nil, err
		}
		if found {
			refs = append(refs, ref)
		}
	}
	return refs, nil
}

// read fills in the content of a reference.
func (v *previewing[T]) read(ctx context.Context, t target, ref *reference, optional bool) (found bool, err error) {
	if given, ok := v.preview.Contents[ref.Reference]; ok {
		ref.data = given
		ref.content.digest, err = contentDigest(given)
		return true, err
	}
	err = t.read(ctx, ref)
	if p, ok := errors.AsType[*condition.Error](err); ok && optional && p.Reason == metav1alpha1.ReasonReferenceNotFound {
		return false, nil
	}
	return err == nil, err
}

// target finds the cluster of the dependents. Nobody is impersonated there.
func (v *previewing[T]) target(ctx context.Context) (target, error) {
	_, ref, err := identityOf(v.component, v.options.DefaultServiceAccount)
	if err != nil {
		return target{}, condition.InvalidSpec(err)
	}
	t := target{engine: v.local, local: v.local}
	if ref == nil {
		return t, nil
	}
	fill(&ref.Key, metav1alpha1.DefaultKubeConfigKey)
	secret := reference{
		Reference: generator.Reference{Kind: metav1alpha1.SecretReference, Namespace: v.component.GetNamespace(), Name: ref.Name},
		watched:   watchedReference(v.component.GetNamespace(), metav1alpha1.Reference{Kind: metav1alpha1.SecretReference, Name: ref.Name}),
	}
	if _, err := v.read(ctx, t, &secret, false); err != nil {
		return target{}, err
	}
	return v.remoteTarget(ctx, t, secret, ref.Key)
}

func (v *previewing[T]) remoteTarget(ctx context.Context, t target, secret reference, key string) (target, error) {
	config, err := parseKubeconfig(secret.data[key])
	if err != nil {
		return target{}, condition.InvalidSpec(fmt.Errorf("key %q of Secret %s/%s: %w", key, secret.Namespace, secret.Name, err))
	}
	if config, err = transport.DryRunOnly(config); err != nil {
		return target{}, err
	}
	engine, err := NewEngine(ctx, v.name, config, v.engineOptions())
	if err != nil {
		return target{}, err
	}
	remote := &remote{engine: engine}
	cluster, err := remote.identify(ctx, v.clock)
	if err != nil {
		return target{}, unidentified(secret.Namespace, secret.Name, err)
	}
	own, err := v.owners.Of(ctx, v.component)
	if err != nil && !apierrors.IsForbidden(err) {
		return target{}, err
	}
	found := targetAt(engine, cluster, own.Cluster)
	found.local = t.local
	return found, nil
}
