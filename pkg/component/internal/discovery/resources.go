package discovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// Resource is a type that the API server serves.
type Resource struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
}

// GroupKind returns the group and kind of the objects of a resource.
func (r Resource) GroupKind() schema.GroupKind { return schema.GroupKind{Group: r.Group, Kind: r.Kind} }

// Resources reads the resources that support all of the verbs, each in its preferred version, sorted by group and name.
// If the discovery of some groups fails, it returns an error together with the resources of all other groups. A caller
// that needs all types must not use that result. See PartialFailure.
func (r *Reader) Resources(ctx context.Context, verbs ...string) ([]Resource, error) {
	lists, failure := r.client.ServerPreferredResourcesWithContext(ctx)
	var found []Resource
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			if isMain(resource) && supports(resource, verbs...) {
				found = append(found, Resource{gv.WithResource(resource.Name), resource.Kind, resource.Namespaced})
			}
		}
	}
	slices.SortFunc(found, func(a, b Resource) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Resource, b.Resource))
	})
	return found, failure
}

// AggregatedKinds reads the kinds of an aggregated API that can be listed and created. Kinds that can only be read,
// such as metrics, are left out, because their objects were not created by a client and cannot be deleted.
func (r *Reader) AggregatedKinds(ctx context.Context, gv schema.GroupVersion) ([]schema.GroupKind, error) {
	list, err := r.client.ServerResourcesForGroupVersionWithContext(ctx, gv.String())
	if err != nil {
		return nil, fmt.Errorf("APIService %s.%s does not answer (%w); make it available; if you delete it, "+
			"nothing protects what its API server stored",
			gv.Version, gv.Group, err)
	}
	var kinds []schema.GroupKind
	for _, resource := range list.APIResources {
		if isMain(resource) && supports(resource, "list", "create") {
			kinds = append(kinds, schema.GroupKind{Group: gv.Group, Kind: resource.Kind})
		}
	}
	return kinds, nil
}

// PartialFailure describes an error of Resources for a caller that needs only the groups for which concerns returns
// true. The text names those of these groups whose discovery failed, with advice. The text is empty if the discovery of
// all these groups succeeded.
func PartialFailure(err error, concerns func(group string) bool) string {
	var partial *discovery.ErrGroupDiscoveryFailed
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &partial):
		return fmt.Sprintf("the types that the API server serves cannot be read: %v", err)
	}
	var failures []string
	for gv, cause := range partial.Groups {
		if concerns(gv.Group) {
			failures = append(failures,
				fmt.Sprintf("%s does not answer (%v); make it available; if you delete its APIService, nothing protects what its "+
					"API server stored", gv, cause))
		}
	}
	slices.Sort(failures)
	return strings.Join(failures, "; ")
}

// isMain reports whether a resource is not a subresource. An example of a subresource is pods/status. A resource
// without a name, which a faulty server may list, has no objects.
func isMain(r metav1.APIResource) bool { return r.Name != "" && !strings.Contains(r.Name, "/") }

func supports(r metav1.APIResource, verbs ...string) bool {
	return !slices.ContainsFunc(verbs, func(verb string) bool { return !slices.Contains(r.Verbs, verb) })
}
