package generator

import (
	"context"
	"io/fs"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// Generator renders the dependents of a component.
//
// Generate must be deterministic for equal requests, must be safe for concurrent use, must honour ctx, and does no network I/O of its
// own: what it needs from a cluster it asks of req.Target and req.Local. The returned objects may be typed or unstructured; each
// carries apiVersion and kind or a Go type known to the client-go scheme. Annotations prefixed with the reconciler's name are settings.
// Objects without namespace that are namespaced get req.Namespace.
//
// An error means that nothing is applied. It should say which file and line, and what to do.
type Generator interface {
	Generate(ctx context.Context, req Request) ([]client.Object, error)
}

// GeneratorFunc adapts a function to a Generator.
type GeneratorFunc func(ctx context.Context, req Request) ([]client.Object, error)

// Generate calls f.
func (f GeneratorFunc) Generate(ctx context.Context, req Request) ([]client.Object, error) {
	return f(ctx, req)
}

// Request is the input of a Generator. Everything in it is read-only.
type Request struct {
	// Namespace and Name say where, and as what, the component is deployed.
	Namespace, Name string
	// Parameters is the component's spec (its values) as plain data: maps, slices, strings, bools, int64 and float64.
	Parameters map[string]any
	// Component is the component itself.
	Component client.Object
	// Source is the fetched source, where the component has one; nil otherwise.
	Source fs.FS
	// SourceDigest identifies the content of Source; equal digests mean equal content. Empty where Source is nil.
	SourceDigest string
	// References holds the contents of the Secrets and ConfigMaps that the component references.
	References References
	// Revision counts the changes of the inputs; it is 1 at the first apply.
	Revision int64
	// Digest identifies the inputs known before rendering.
	Digest string
	// Target reads from the cluster that dependents are applied to; Local from the one where the component lives. Both may be nil, where
	// there is no cluster (an offline rendering); a look-up then finds nothing.
	Target, Local Lookup
	// Capabilities describes the target.
	Capabilities Capabilities
	// Now is the time of this rendering, for a generator that writes it into manifests; the wall clock where it is zero. A rendering that is
	// repeated to see whether it is deterministic gets another time, so whoever asks the clock instead goes unnoticed.
	Now time.Time
	// Report takes what the generator has to say besides the objects; see Tell. It is nil where nobody wants to know, and safe for concurrent use.
	Report func(Result)
	// Locate takes which file each object is from; see Located. It is nil where nobody wants to know, and must not change what is rendered.
	Locate func(Origin)
}

// Lookup reads single objects for a generator. A missing object, and a kind that is not served, are reported as an error for which
// apierrors.IsNotFound or meta.IsNoMatchError holds.
type Lookup interface {
	Get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error)
	// List returns all objects of a kind in a namespace, or in all namespaces if it is empty.
	List(ctx context.Context, gvk schema.GroupVersionKind, namespace string) (*unstructured.UnstructuredList, error)
}

// Reference names a Secret or ConfigMap.
type Reference struct {
	Kind      metav1alpha1.ReferenceKind
	Namespace string
	Name      string
}

// References maps a referenced object to its data. An optional reference that does not exist is absent.
type References map[Reference]map[string][]byte

// Capabilities describes a cluster.
type Capabilities struct {
	// Version of the API server.
	Version version.Info
	// APIVersions that are served: group/version, and group/version/Kind.
	APIVersions []string
}

// Versioner is an optional interface of a Generator, and of the transformers that it may be composed with: a new version is a change of the
// inputs, so that everything is rendered again. The version of a generator without it, or with an empty one, is the program's: every new
// build renders everything again.
type Versioner interface {
	Version() string
}
