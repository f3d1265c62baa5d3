package component

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// rendering is the last rendered set of a component. While the digest stands nothing is rendered again.
type rendering struct {
	digest string
	// cluster is the one that it was rendered for.
	cluster   string
	generated []*unstructured.Unstructured
	objects   []manifests.Object
	// resets is how often the mapper had forgotten what it knew when the objects were normalised.
	resets int
	// told is what the generator said besides.
	told *results
}

// settled says that the scope of every object was known when it was normalised.
func (r rendering) settled() bool {
	for _, o := range r.objects {
		if o.Scope == manifests.ScopeUnknown {
			return false
		}
	}
	return true
}

// render returns the apply set for the inputs.
func (r *Reconciler[T]) render(ctx context.Context, component T, owner manifests.Owner, in inputs) ([]manifests.Object, error) {
	name := client.ObjectKeyFromObject(component)
	r.mu.Lock()
	last, ok := r.rendered[name]
	r.mu.Unlock()
	current := ok && last.digest == in.digest && last.cluster == in.target.cluster && !in.target.engine.rescoped(last)
	if current {
		r.forgetSource(name)
	}
	if current && last.generated == nil {
		last.told.enter(component.GetStatus(), component.GetGeneration(), r.clock.Now())
		return last.objects, nil
	}
	generated, told := last.generated, last.told
	if !current {
		var err error
		told = &results{}
		if generated, err = r.generate(ctx, component, in, told); err != nil {
			return nil, err
		}
	}
	resets := in.target.engine.mapper.forgotten()
	objects, err := normalise(generated, manifests.NormaliseOptions{
		Reconciler: r.name, Namespace: in.namespace, Owner: owner, ScopeOf: in.target.engine.scopeOf,
		StatusIsSubresource: in.target.engine.statusIsSubresource, Managed: in.managed,
	})
	if err != nil {
		return nil, err
	}
	if err := checkSelf(owner, in.target, objects); err != nil {
		return nil, err
	}
	rendered := rendering{digest: in.digest, cluster: in.target.cluster, objects: objects, resets: resets, told: told}
	if !rendered.settled() {
		// To be normalised again when the types are served; generating again could give other random values.
		rendered.generated = generated
	}
	r.mu.Lock()
	r.rendered[name] = rendered
	r.mu.Unlock()
	told.enter(component.GetStatus(), component.GetGeneration(), r.clock.Now())
	return objects, nil
}

// normalise tells what is wrong with the manifests from an API server that does not say what it serves: that goes away by itself.
func normalise(generated []*unstructured.Unstructured, o manifests.NormaliseOptions) ([]manifests.Object, error) {
	var unanswered error
	scopeOf := o.ScopeOf
	o.ScopeOf = func(gvk schema.GroupVersionKind) (manifests.Scope, error) {
		scope, err := scopeOf(gvk)
		if err != nil {
			unanswered = err
		}
		return scope, err
	}
	objects, err := manifests.Normalise(generated, o)
	switch {
	case unanswered != nil:
		return nil, &problem{reason: metav1alpha1.ReasonRetrying, message: fmt.Sprintf("ask the API server what it serves: %v", unanswered)}
	case err != nil:
		return nil, &problem{reason: metav1alpha1.ReasonInvalidManifests, message: err.Error(), terminal: true}
	}
	return objects, nil
}

// maxGenerate is how long a generator may take: it holds up a worker.
const maxGenerate = time.Minute

// callGenerator calls the generator in bounds: in time, if it honours its context, and without taking the operator down when it panics.
func (r *Reconciler[T]) callGenerator(ctx context.Context, req generator.Request) (objects []client.Object, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxGenerate)
	defer cancel()
	defer func() {
		if cause := recover(); cause != nil {
			err = panicked(ctx, "the generator", cause)
		}
	}()
	var lookups lookupFailures
	req.Target, req.Local = lookups.watch(req.Target), lookups.watch(req.Local)
	objects, err = r.generator.Generate(ctx, req)
	return objects, lookups.explain(err)
}

// generate renders the manifests. told takes what the generator says besides.
func (r *Reconciler[T]) generate(ctx context.Context, component T, in inputs, told *results) ([]*unstructured.Unstructured, error) {
	files, err := r.source(component, in)
	if err != nil {
		return nil, err
	}
	references, err := in.target.loadReferences(ctx, in.references)
	if err != nil {
		return nil, err
	}
	capabilities, err := in.target.engine.capabilities()
	if err != nil {
		return nil, &problem{reason: metav1alpha1.ReasonRetrying, message: fmt.Sprintf("ask the API server what it serves: %v", err)}
	}
	revision := component.GetStatus().Revision
	if component.GetStatus().InputDigest != in.digest {
		revision++
	}
	generated, err := r.callGenerator(ctx, generator.Request{
		Namespace: in.namespace, Name: in.name, Parameters: in.parameters, Component: component,
		Source: files, SourceDigest: in.sourceDigest(), References: references, Revision: revision, Digest: in.digest, Target: in.target.engine.lookup(), Local: in.target.local.lookup(), Capabilities: capabilities,
		Report: told.add,
	})
	if err != nil {
		return nil, authored(err, metav1alpha1.ReasonGenerateFailed, true)
	}
	objects := make([]*unstructured.Unstructured, 0, len(generated))
	for i, obj := range generated {
		if obj == nil {
			return nil, &problem{reason: metav1alpha1.ReasonGenerateFailed, message: fmt.Sprintf("the generator returned nil as object %d", i+1), terminal: true}
		}
		u, err := manifests.ToUnstructured(obj, func(o runtime.Object) (schema.GroupVersionKind, error) {
			return apiutil.GVKForObject(o, r.client.Scheme())
		})
		if err != nil {
			return nil, &problem{reason: metav1alpha1.ReasonGenerateFailed, message: fmt.Sprintf("%T %s: %v", obj, obj.GetName(), err), terminal: true}
		}
		objects = append(objects, u)
	}
	return objects, nil
}

// rescoped says that a type has another scope than when the objects were normalised: it was defined anew.
func (e *Engine) rescoped(r rendering) bool {
	if r.resets == e.mapper.forgotten() {
		return false
	}
	scopes := map[schema.GroupVersionKind]manifests.Scope{}
	for _, o := range r.objects {
		gvk := o.GroupVersionKind()
		scope, asked := scopes[gvk]
		if !asked {
			var err error
			if scope, err = e.scopeOf(gvk); err != nil {
				scope = manifests.ScopeUnknown
			}
			scopes[gvk] = scope
		}
		if scope != manifests.ScopeUnknown && scope != o.Scope {
			return true
		}
	}
	return false
}

// scopeOf asks the API server for the scope of a type.
func (e *Engine) scopeOf(gvk schema.GroupVersionKind) (manifests.Scope, error) {
	mapping, err := e.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case meta.IsNoMatchError(err):
		return manifests.ScopeUnknown, nil
	case err != nil:
		return manifests.ScopeUnknown, err
	case mapping.Scope.Name() == meta.RESTScopeNameNamespace:
		return manifests.ScopeNamespaced, nil
	}
	return manifests.ScopeCluster, nil
}

// statusIsSubresource asks the API server whether the status of a type is a subresource.
func (e *Engine) statusIsSubresource(gvk schema.GroupVersionKind) (bool, error) {
	mapping, err := e.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return false, err
	}
	served, err := e.discovery.ServerResourcesForGroupVersion(gvk.GroupVersion().String())
	if err != nil {
		return false, fmt.Errorf("ask the API server whether the status of %s is a subresource: %w", gvk, err)
	}
	return slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool {
		return r.Name == mapping.Resource.Resource+"/status"
	}), nil
}
