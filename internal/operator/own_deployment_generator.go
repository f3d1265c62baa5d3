package operator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const (
	updatePolicy = ReconcilerName + "/" + manifests.AnnotationUpdatePolicy
	purgeOrder   = ReconcilerName + "/" + manifests.AnnotationPurgeOrder
	phases       = ReconcilerName + "/" + manifests.AnnotationPhase
)

// staying is a generator that protects the Deployment of the operator. It returns an error if the rendering of the
// Deployment's component lacks the Deployment, so that it would be pruned, or if it has settings that would delete the
// Deployment.
type staying struct {
	generator.Generator
	self self
}

var (
	_ generator.Versioner = staying{}
	_ generator.Prover    = staying{}
)

// Version returns the version of the wrapped generator.
func (s staying) Version() string { return generator.VersionOf(s.Generator) }

// Generate implements generator.Generator.
func (s staying) Generate(ctx context.Context, req generator.Request) ([]client.Object, error) {
	objects, _, err := s.Prove(ctx, req)
	return objects, err
}

// Prove implements generator.Prover.
func (s staying) Prove(ctx context.Context, req generator.Request) ([]client.Object, bool, error) {
	objects, proven, err := generator.Prove(ctx, s.Generator, req)
	c, ok := req.Component.(*v1alpha1.Component)
	if err != nil || !ok {
		return objects, proven, err
	}
	at := slices.IndexFunc(objects, func(o client.Object) bool { return s.self.is(o, req.Namespace) })
	if at < 0 {
		err = s.self.refusePruning(ctx, c)
	} else {
		err = s.self.refuseSettings(c, objects[at].GetAnnotations())
	}
	if err != nil {
		return nil, false, err
	}
	return objects, proven, nil
}

// is reports whether a rendered object is the Deployment of the operator. The parameter in is the namespace for objects
// that are rendered without a namespace. For objects that are applied only in a phase of the deletion, is returns
// false.
func (s self) is(o client.Object, in string) bool {
	kind := o.GetObjectKind().GroupVersionKind().GroupKind()
	if s.key() != (manifests.Key{
		Group: kind.Group, Kind: kind.Kind, Namespace: cmp.Or(o.GetNamespace(), in),
		Name: o.GetName(),
	}) {
		return false
	}
	named := o.GetAnnotations()[phases]
	return named == "" || slices.ContainsFunc(strings.Split(named, ","),
		func(phase string) bool { return strings.TrimSpace(phase) == "apply" })
}

// refusePruning returns an error if the Deployment of the operator is a dependent of a component. It is called when the
// rendering of the component lacks the Deployment, which would then be pruned.
func (s self) refusePruning(ctx context.Context, c *v1alpha1.Component) error {
	// The inventory cannot be lost here, because a lost inventory is rebuilt before the component is rendered.
	goes, err := s.goesWith(ctx, c, false, metav1alpha1.DeleteOrphanOnApply)
	if err != nil {
		return component.RetryAfter(err, 0)
	}
	if goes {
		return fmt.Errorf("the rendering lacks Deployment %s, in which the operator itself runs: pruning it would stop "+
			"the operator before the pass ends; "+
			"render it under this name, or %s", s.deployment, elsewhere)
	}
	return nil
}

// refuseSettings returns an error if annotations of the rendered Deployment of the operator would delete the
// Deployment. This includes settings that would create it again, because the operator would stop before the creation.
// The check is also made if the component does not own the Deployment, because its first pass may adopt it.
func (s self) refuseSettings(c *v1alpha1.Component, annotations map[string]string) error {
	if c.Spec.KubeConfig() != nil {
		return nil
	}
	if _, purged := annotations[purgeOrder]; purged {
		return fmt.Errorf("the rendering sets the annotation %s on Deployment %s, in which the operator itself runs: the "+
			"Deployment would be deleted and not created again; remove the annotation",
			purgeOrder, s.deployment)
	}
	return s.refusePolicy(c, annotations)
}

// refuseRecreation is a hook that returns an error if the Deployment of the operator is a dependent of the component,
// and the component sets the update policy recreate. With this policy, an update would delete the Deployment, and the
// operator would stop before it creates the Deployment again. The check of rendered objects is not sufficient, because
// a change of spec.updatePolicy does not start a new rendering.
func (s self) refuseRecreation(ctx context.Context, c *v1alpha1.Component, _ component.DependentReader) error {
	if c.Spec.KubeConfig() != nil || c.Spec.Policies().Update != metav1alpha1.UpdateRecreate {
		return nil
	}
	held, annotations, err := s.heldBy(ctx, c)
	if err != nil || !held {
		return err
	}
	if err := s.refusePolicy(c, annotations); err != nil {
		return reconcile.TerminalError(err)
	}
	return nil
}

// refusePolicy returns an error if the update policy of the operator's Deployment is recreate, set by the given
// annotations or by the component.
func (s self) refusePolicy(c *v1alpha1.Component, annotations map[string]string) error {
	own := metav1alpha1.Policies{Update: metav1alpha1.UpdatePolicy(annotations[updatePolicy])}
	if own.Or(c.Spec.Policies()).Update != metav1alpha1.UpdateRecreate {
		return nil
	}
	remedy := fmt.Sprintf("set another policy in spec.updatePolicy, at least until the Deployment has the annotation "+
		"%s: %s", updatePolicy, Policies.Update)
	if own.Update == metav1alpha1.UpdateRecreate {
		remedy = "set another policy in its annotation " + updatePolicy
	}
	return fmt.Errorf("the update policy of Deployment %s, in which the operator itself runs, is %s: a change would "+
		"delete it, and no operator would "+
		"create it again; %s", s.deployment, own.Or(c.Spec.Policies()).Update, remedy)
}
