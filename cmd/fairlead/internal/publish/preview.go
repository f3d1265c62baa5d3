package publish

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// Preview returns the component and the ConfigMaps of the source that Publish would write, and writes nothing. It makes
// a dry run of the write of the component. If the person may not write components, it computes the component locally
// instead, so that the component may be invalid.
func (p *Publisher) Preview(ctx context.Context, r Request) (*unstructured.Unstructured, []*corev1.ConfigMap, error) {
	before, err := p.find(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	s := p.source(ctx, before, r)
	component, err := p.dryRun(ctx, before, r, s)
	if apierrors.IsForbidden(err) {
		component, err = expected(before, r, s)
	}
	if err != nil {
		return nil, nil, s.explain(err)
	}
	return component, s.configMaps(), nil
}

// PreviewManifest returns the component that an apply of the manifest of a request would make, with the source in this
// manifest, and writes nothing. It makes a dry run as Preview does.
func (p *Publisher) PreviewManifest(ctx context.Context, r Request) (*unstructured.Unstructured, error) {
	before, err := p.find(ctx, r)
	if err != nil {
		return nil, err
	}
	after := r.Target.Blank()
	if before != nil {
		after = before.DeepCopy()
	}
	source, _, err := unstructured.NestedMap(r.Manifest.Object, "spec", "source")
	if err == nil {
		err = r.setSpec(after, source)
	}
	if err != nil {
		return nil, err
	}
	if len(source) == 0 {
		unstructured.RemoveNestedField(after.Object, "spec", "source")
	}
	answer, dry := after.DeepCopy(), client.NewDryRunClient(p.Client)
	if before == nil {
		err = dry.Create(ctx, answer)
	} else {
		err = dry.Update(ctx, answer)
	}
	if apierrors.IsForbidden(err) {
		return after, nil
	}
	return answer, err
}

// check calls Check with the component and the ConfigMaps that are about to be written.
func (p *Publisher) check(before *unstructured.Unstructured, r Request, s stored) ([]metav1alpha1.AdoptRule, error) {
	if p.Check == nil {
		return nil, nil
	}
	component, err := expected(before, r, s)
	if err != nil {
		return nil, err
	}
	if before != nil && sameSpec(before, component) && !p.CheckUnchanged {
		return nil, nil
	}
	return p.Check(component, s.configMaps())
}

// dryRun writes the component in a dry run, and returns the answer of the API server.
func (p *Publisher) dryRun(
	ctx context.Context, before *unstructured.Unstructured, r Request, s stored,
) (*unstructured.Unstructured, error) {
	dry := Publisher{Client: client.NewDryRunClient(p.Client), Done: func(string) {}, Warn: p.Warn}
	component, _, err := dry.switchOver(ctx, before, r, s)
	return component, err
}

// silent returns a publisher that reports nothing.
func (p *Publisher) silent() *Publisher {
	return &Publisher{Client: p.Client, Done: func(string) {}, Warn: func(error) {}}
}

// expected computes the component after the write, without a request.
func expected(before *unstructured.Unstructured, r Request, s stored) (*unstructured.Unstructured, error) {
	if before == nil {
		before = r.Target.Blank()
	}
	after := before.DeepCopy()
	if err := r.setSpec(after, s.spec()); err != nil {
		return nil, err
	}
	if !sameSpec(before, after) {
		after.SetGeneration(before.GetGeneration() + 1)
	}
	return after, nil
}
