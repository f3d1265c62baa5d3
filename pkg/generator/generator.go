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
// Generate must return equal objects for equal requests, be safe for concurrent use, honour ctx, and do no network I/O
// of its own; it reads clusters through req.Target and req.Local. The returned objects may be typed or unstructured.
// Each has apiVersion and kind, or a Go type known to the client-go scheme. Annotations with the reconciler's name as
// prefix are settings. Namespaced objects without namespace are placed in req.Namespace.
//
// If Generate returns an error, nothing is applied. The error should name file and line, and the required correction.
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
	// Namespace and Name are the namespace and the name under which the component is deployed.
	Namespace, Name string
	// Parameters are the parameters (values) of the component as plain data: maps, slices, strings, bools, int64 and
	// float64.
	Parameters map[string]any
	// Component is the component itself.
	Component client.Object
	// Source is the fetched source of the component, or nil if it has none.
	Source fs.FS
	// SourceDigest identifies the content of Source; equal digests mean equal content. It is empty if Source is nil.
	SourceDigest string
	// References holds the contents of the Secrets and ConfigMaps that the component references.
	References References
	// Revision is the number of changes of the inputs; it is 1 at the first apply.
	Revision int64
	// Digest identifies the inputs that are known before the rendering.
	Digest string
	// Target reads from the target cluster, Local from the cluster of the component. Both are nil without a cluster, as
	// in an offline rendering; look-ups then find nothing.
	Target, Local Lookup
	// Owns reports whether an object that Target or Local returned is a dependent of the component, or one that the
	// component released, for example by a delete policy. It is nil without a cluster.
	Owns func(*unstructured.Unstructured) bool
	// Capabilities describes the target.
	Capabilities Capabilities
	// Inputs are the values of event sources that are inputs of the component, as plain data, by the name of the source.
	// A source without a value for the component is left out.
	Inputs map[string]any
	// Exports are the values that dependents of the component export.
	Exports Exports
	// Now is the time of this rendering. A generator that writes the time into manifests must use Now; a zero Now means
	// the wall clock. The determinism check renders again with another Now. It does not detect a generator that reads the
	// wall clock instead.
	Now time.Time
	// Trial is set if the random values of this rendering are not used: it is compared with another rendering of the same
	// inputs, or only its notes are read. A generator may then make keys in a cheaper way. All else must be the same.
	Trial bool
	// Report receives the results of the generator; see Tell. It may be nil, and is safe for concurrent use.
	Report func(Result)
	// Locate receives the source file of each object; see Located. It may be nil, and must not change the rendering.
	Locate func(Origin)
	// SourceVersion receives the name and the version of the source, for the history of the component; see Versioned. It
	// may be nil, and must not change the rendering.
	SourceVersion func(string)
	// Notes receives the notes of a successful rendering, at most once and before Generate returns; see Noted. It may be
	// nil, and must not change the rendering.
	Notes func(string)
}

// Lookup reads objects for a generator. For a missing object, Get returns an error that satisfies apierrors.IsNotFound.
// For a kind that is not served, Get returns an error that satisfies meta.IsNoMatchError.
type Lookup interface {
	Get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error)
	// List returns all objects of a kind in a namespace. If namespace is empty, List returns the objects of all
	// namespaces.
	List(ctx context.Context, gvk schema.GroupVersionKind, namespace string) (*unstructured.UnstructuredList, error)
}

// Reference names a Secret, a ConfigMap or a component.
type Reference struct {
	Kind      metav1alpha1.ReferenceKind
	Namespace string
	Name      string
	// Type is the type of a component, as in metav1alpha1.Reference.
	Type string `json:",omitempty"`
}

// References maps referenced objects to their data. The data of a component are its referenced exports, as JSON, by
// name. References contains no entry for an optional object that does not exist.
type References map[Reference]map[string][]byte

// Capabilities describes a cluster.
type Capabilities struct {
	// Version of the API server.
	Version version.Info
	// APIVersions that are served: group/version, and group/version/Kind.
	APIVersions APIVersions
}

// Versioner is an optional interface of generators and transformers. The version is an input of the rendering: when it
// changes, all components are rendered again. Without this interface, or with an empty version, all components are
// rendered again with every new build of the program.
type Versioner interface {
	Version() string
}
