package discovery

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Reader reads the types that one API server serves. It is safe for concurrent use.
type Reader struct {
	client *discovery.DiscoveryClient
	// lifetime is the context of requests in methods without a context argument.
	lifetime     context.Context
	mapper       *mapper
	lists        *resourceLists
	capabilities *capabilityCache
	types        *typeCache
}

// Options configure a Reader. All fields are required.
type Options struct {
	Config *rest.Config
	Client *http.Client
	// FollowDefinitions calls event whenever a definition of types, such as a CustomResourceDefinition, is created,
	// changed or deleted, until ctx ends. It must return at once. The Reader calls FollowDefinitions once, after the
	// capabilities were read for the first time.
	FollowDefinitions func(ctx context.Context, event func())
}

// New returns a Reader. It sends no request. The background work of the Reader ends with ctx.
func New(ctx context.Context, o Options) (*Reader, error) {
	client, err := discovery.NewDiscoveryClientForConfigAndClient(o.Config, o.Client)
	if err != nil {
		return nil, err
	}
	lists := newResourceLists(client, clock.RealClock{})
	capabilities := newCapabilityCache(ctx, client)
	capabilities.follow = func() {
		o.FollowDefinitions(ctx, func() {
			lists.forget()
			capabilities.refreshSoon()
		})
		go capabilities.run(ctx)
	}
	build := func() (meta.RESTMapper, error) { return apiutil.NewDynamicRESTMapper(o.Config, o.Client) }
	mapper, err := newMapper(build, clock.RealClock{})
	if err != nil {
		return nil, err
	}
	types, err := newTypeCache(o.Config, o.Client)
	if err != nil {
		return nil, err
	}
	r := &Reader{
		client: client, lifetime: ctx, mapper: mapper, lists: lists, capabilities: capabilities, types: types,
	}
	mapper.reset, mapper.versions = lists.forget, r.versionsOf
	mapper.missing = func(gk schema.GroupKind, versions ...string) { capabilities.answered(false, gk, versions...) }
	return r, nil
}

// Mapper returns the RESTMapper of the API server. The caller must call the method Reset of the RESTMapper after a 404
// for the path of a type, because the version may no longer be served, or the type may have been defined again with
// another scope.
func (r *Reader) Mapper() meta.ResettableRESTMapper { return r.mapper }

// WithRenewal calls the function WithRenewal with the RESTMapper of the Reader.
func (r *Reader) WithRenewal(send func() error) error { return WithRenewal(r.mapper, send) }

// Resets returns how many times the RESTMapper has dropped all cached types. As long as this number is the same, the
// scopes of known types are the same.
func (r *Reader) Resets() int { return r.mapper.resetCount() }

// Scope returns the scope of a type. If the type is not served, it returns ScopeUnknown and no error. If the API of the
// type does not answer, it returns an error.
func (r *Reader) Scope(gvk schema.GroupVersionKind) (manifests.Scope, error) {
	mapping, err := r.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case meta.IsNoMatchError(err):
		return manifests.ScopeUnknown, r.confirmUnserved(gvk.GroupVersion())
	case err != nil:
		return manifests.ScopeUnknown, err
	case mapping.Scope.Name() == meta.RESTScopeNameNamespace:
		return manifests.ScopeNamespaced, nil
	}
	return manifests.ScopeCluster, nil
}

// confirmUnserved returns an error if an API does not answer. The first answer of the mapper does not distinguish such
// an API from one that does not exist.
func (r *Reader) confirmUnserved(gv schema.GroupVersion) error {
	_, err := r.lists.of(r.lifetime, gv)
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("ask the API server what %s has: %w", gv, err)
}

// HasStatusSubresource reports whether the status of a type is a subresource. It returns an error if the type is not
// served.
func (r *Reader) HasStatusSubresource(gvk schema.GroupVersionKind) (bool, error) {
	mapping, err := r.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return false, err
	}
	resources, err := r.lists.of(r.lifetime, gvk.GroupVersion())
	if err != nil {
		return false, fmt.Errorf("find out whether the status of %s is a subresource: %w", gvk, err)
	}
	return slices.ContainsFunc(resources, func(resource metav1.APIResource) bool {
		return resource.Name == mapping.Resource.Resource+"/status"
	}), nil
}

// versionsOf reads from the API server which versions of a group serve a kind, in the order of their priority. The
// group must not be the core group. If the discovery of a version fails, it returns the other versions that serve the
// kind, and an error.
func (r *Reader) versionsOf(gk schema.GroupKind) ([]string, error) {
	var group metav1.APIGroup
	err := r.client.RESTClient().Get().AbsPath("/apis", gk.Group).Do(r.lifetime).Into(&group)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the versions of the API group %s: %w", gk.Group, err)
	}
	var serving []string
	var failures []error
	for _, version := range group.Versions {
		resources, err := r.lists.of(r.lifetime, schema.GroupVersion{Group: gk.Group, Version: version.Version})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			failures = append(failures, fmt.Errorf("read the resources of %s: %w", version.GroupVersion, err))
		case slices.ContainsFunc(resources, func(o metav1.APIResource) bool { return o.Kind == gk.Kind && isMain(o) }):
			serving = append(serving, version.Version)
		}
	}
	return serving, errors.Join(failures...)
}

// Serves reports whether the API server serves a kind in any version. The mapper never drops a kind whose definition
// was deleted. So Serves reads the versions of the group if the capabilities, which are read after each watch event on
// definitions, do not have the kind.
func (r *Reader) Serves(gk schema.GroupKind) (bool, error) {
	_, err := r.mapper.RESTMapping(gk)
	switch {
	case err == nil && (gk.Group == "" || r.capabilities.known().mayServe(gk)):
		return true, nil
	case err != nil && !meta.IsNoMatchError(err):
		return false, err
	case gk.Group == "":
		return false, nil
	}
	// The mapper does not distinguish a group that does not respond from a group that does not exist.
	versions, err := r.versionsOf(gk)
	if err == nil {
		r.capabilities.answered(len(versions) > 0, gk)
	}
	return len(versions) > 0, err
}

// Verbs returns the verbs that a resource supports. It returns none if the group and version is served, but does not
// contain the resource.
func (r *Reader) Verbs(gvr schema.GroupVersionResource) ([]string, error) {
	resources, err := r.lists.of(r.lifetime, gvr.GroupVersion())
	if err != nil {
		return nil, err
	}
	for _, resource := range resources {
		if resource.Name == gvr.Resource {
			return resource.Verbs, nil
		}
	}
	return nil, nil
}

// Capabilities returns the version of the API server and the types that it serves. The first call reads them, and
// concurrent callers share that reading. A call waits for at most ten seconds and then returns an error; the reading
// continues, and a later call returns its result. For groups whose discovery failed, see Summary.
func (r *Reader) Capabilities(ctx context.Context) (Capabilities, error) {
	return r.capabilities.current(ctx)
}

// Subscribe registers an owner that was rendered for the capabilities with a digest. wake is called whenever a reading
// returns capabilities with another digest, or the set of undiscovered groups changes. It is called at once if the
// digest of the current capabilities differs. A later call for the same owner replaces the subscription. wake must
// neither block nor call the Reader.
func (r *Reader) Subscribe(owner, digest string, wake func()) {
	r.capabilities.subscribe(owner, digest, wake)
}

// Unsubscribe ends the subscription of an owner, if there is one.
func (r *Reader) Unsubscribe(owner string) { r.capabilities.unsubscribe(owner) }
