package execute

import (
	"context"
	"encoding/json"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// clients sends requests about dependents, with up to three identities.
type clients struct {
	mapper meta.RESTMapper
	// rest sends requests with the same identity as own.
	rest rest.Interface
	// own reads and writes dependents as the component's identity. user is the name of this identity; it is empty if
	// the component has no identity of its own and uses the operator's identity.
	own  dynamic.Interface
	user string
	// operator reads definitions and namespaces as the operator, because the component's identity may lack the right to
	// read them.
	operator dynamic.Interface
	// reader is the first client that checks whether an object still exists.
	reader dynamic.Interface
	// componentNamespace is the namespace of the component. componentNamespace is empty if the component is in another
	// cluster, or if the namespace is not known.
	componentNamespace string
}

// mapping returns the resource of an action. If the version of the action is not served, and the action writes no
// manifest, any served version of the type is used.
func (c *clients) mapping(a plan.Action) (*meta.RESTMapping, error) {
	gk := schema.GroupKind{Group: a.Key.Group, Kind: a.Key.Kind}
	mapping, err := c.mapper.RESTMapping(gk, a.Version)
	if err != nil && a.Object == nil {
		return c.mapper.RESTMapping(gk)
	}
	return mapping, err
}

// resource returns the component's client for the type of an action.
func (c *clients) resource(a plan.Action) (dynamic.ResourceInterface, error) {
	return c.resourceAs(a, c.own)
}

func (c *clients) resourceAs(a plan.Action, objects dynamic.Interface) (dynamic.ResourceInterface, error) {
	mapping, err := c.mapping(a)
	if err != nil {
		return nil, err
	}
	if a.Key.Namespace == "" {
		return objects.Resource(mapping.Resource), nil
	}
	return objects.Resource(mapping.Resource).Namespace(a.Key.Namespace), nil
}

// list lists all objects of a type as the component's identity.
func (c *clients) list(ctx context.Context, gk schema.GroupKind) (*unstructured.UnstructuredList, error) {
	var list *unstructured.UnstructuredList
	err := discovery.WithRenewal(c.mapper, func() error {
		mapping, err := c.mapper.RESTMapping(gk)
		if err != nil {
			return err
		}
		list, err = c.own.Resource(mapping.Resource).List(ctx, metav1.ListOptions{})
		return err
	})
	return list, err
}

// get reads the object of an action. If no identity may read the object, get may return a not-found error. This error
// lets a deletion end although the component's identity has lost its rights, for example because its namespace was
// deleted. get returns this error only for an object that is to be deleted or that belongs to a deletion phase, and
// only if countsAsDeleted returns true.
func (c *clients) get(ctx context.Context, a plan.Action) (*unstructured.Unstructured, error) {
	obj, err := c.getAsAllowed(ctx, a)
	awaitsEnd := a.Object == nil || inDeletionPhase(a)
	if apierrors.IsForbidden(err) && awaitsEnd && c.countsAsDeleted(ctx, a.Key.Namespace) {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: a.Key.Group, Resource: a.Key.Kind}, a.Key.Name)
	}
	return obj, err
}

// getAsAllowed reads an object as the component's identity. If the object is to be deleted, getAsAllowed tries several
// identities until one has the right to read the object.
func (c *clients) getAsAllowed(ctx context.Context, a plan.Action) (*unstructured.Unstructured, error) {
	if a.Object != nil {
		return c.getAs(ctx, a, c.own)
	}
	obj, err := c.getAs(ctx, a, c.reader)
	if other := c.fallbackReader(); apierrors.IsForbidden(err) && other != c.reader {
		return c.getAs(ctx, a, other)
	}
	return obj, err
}

// fallbackReader returns the client to use if the reader is forbidden to read.
func (c *clients) fallbackReader() dynamic.Interface {
	if c.own != c.reader {
		return c.own
	}
	return c.operator
}

func (c *clients) getAs(
	ctx context.Context, a plan.Action, reader dynamic.Interface,
) (*unstructured.Unstructured, error) {
	resource, err := c.resourceAs(a, reader)
	if err != nil {
		return nil, err
	}
	return resource.Get(ctx, a.Key.Name, metav1.GetOptions{})
}

// delete sends a DELETE request. delete returns the object in the response, or nil if the response is a Status without
// the object. The dynamic client is not used, because it drops the response, which shows whether the object still
// exists.
func (c *clients) delete(
	ctx context.Context, a plan.Action, options metav1.DeleteOptions,
) (*unstructured.Unstructured, error) {
	mapping, err := c.mapping(a)
	if err != nil {
		return nil, err
	}
	options.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}
	body, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	path := "/apis/" + mapping.Resource.Group + "/" + mapping.Resource.Version
	if mapping.Resource.Group == "" {
		path = "/api/" + mapping.Resource.Version
	}
	request := c.rest.Delete()
	for _, dryRun := range options.DryRun {
		// The API server reads the options in the body. The parameter shows the dry run in audit logs.
		request = request.Param("dryRun", dryRun)
	}
	if plan.IsNamespace(a.Key) {
		// The client waits before it repeats a request that the API server limits. The list of the objects in the namespace
		// would then be out of date.
		request = request.MaxRetries(0)
	}
	result := request.AbsPath(path).NamespaceIfScoped(a.Key.Namespace, a.Key.Namespace != "").
		Resource(mapping.Resource.Resource).Name(a.Key.Name).
		SetHeader("Content-Type", "application/json").SetHeader("Accept", "application/json").
		Body(body).Do(ctx)
	// The error of result.Raw contains only the status code, so it does not show why the API server returned 404. The
	// error of result.Error has the details.
	if err := result.Error(); err != nil {
		return nil, err
	}
	answer, err := result.Raw()
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(answer, &obj.Object); err != nil {
		return nil, err
	}
	if obj.GetKind() == "Status" {
		return nil, nil
	}
	return obj, nil
}
