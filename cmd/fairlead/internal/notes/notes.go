package notes

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/internal/operator"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/source/fetch"
)

// Notes returns the notes of a component of the ready-made operator. They are empty if the component has no notes, as
// one with a function. If the dependents are in another cluster, look-ups find no objects, and the version of the
// cluster is unknown.
func (r Reader) Notes(ctx context.Context, obj *unstructured.Unstructured) (string, error) {
	component := &v1alpha1.Component{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, component); err != nil {
		return "", err
	}
	if component.Spec.Function != nil {
		return "", nil
	}
	g, err := operator.NewGenerator(operator.RenderOptions{RefuseFunctions: true})
	if err != nil {
		return "", err
	}
	req, err := r.Request(ctx, component)
	if err != nil {
		return "", err
	}
	req.Trial = true
	return generator.NotesOf(ctx, g, req)
}

// Tests returns the objects of the tests of a component's chart, in the order in which they run. It is an error if the
// source of the component is no chart.
func (r Reader) Tests(ctx context.Context, component *v1alpha1.Component) ([]*unstructured.Unstructured, error) {
	g, err := operator.NewGenerator(operator.RenderOptions{Tests: true})
	if err != nil {
		return nil, err
	}
	req, err := r.Request(ctx, component)
	if err != nil {
		return nil, err
	}
	rendered, err := g.Generate(ctx, req)
	if err != nil {
		return nil, err
	}
	tests := make([]*unstructured.Unstructured, 0, len(rendered))
	for _, object := range rendered {
		test, ok := object.(*unstructured.Unstructured)
		if !ok {
			return nil, fmt.Errorf("the chart renders a %T", object)
		}
		tests = append(tests, test)
	}
	return tests, nil
}

// Reader reads the inputs of components.
type Reader struct {
	// Client reads with the rights that the rendering has.
	Client client.Client
	About  Discovery
	// Credentials includes the references with credentials, which a call of a function needs.
	Credentials bool
	// Inputs are given values of inputs in spec.inputs, by their names. Objects are read for the other inputs.
	Inputs map[string]any
	// Fetcher fetches a source that is outside of the cluster. By default it is downloaded.
	Fetcher component.Fetcher
}

// Request returns the request with which the operator renders a component. It returns an error if Client may not read
// the inputs of the component, which wraps an operator.InputError for each input in spec.inputs without a value. It
// returns an error of bad usage if Inputs has an input that the component does not have.
func (r Reader) Request(ctx context.Context, component *v1alpha1.Component) (generator.Request, error) {
	var err error
	req := generator.Request{Component: component, Revision: revisionOf(component)}
	req.Namespace, req.Name = component.Placement()
	req.Exports = generator.ExportsOf(component.GetStatus())
	if _, err := operator.GivenInputs(component, r.Inputs); err != nil {
		return req, exit.BadUsage("--input: %w", err)
	}
	if req.Inputs, err = operator.ReadInputs(ctx, component, r.Inputs, lookup{r.Client}); err != nil {
		return req, err
	}
	if req.References, err = r.read(ctx, component); err != nil {
		return req, err
	}
	if req.Source, err = r.fetched(ctx, component); err != nil {
		return req, err
	}
	if component.Spec.KubeConfig() == nil {
		if req.Capabilities, err = capabilities(r.About); err != nil {
			return req, err
		}
		req.Target = lookup{r.Client}
	}
	return req, nil
}

// revisionOf returns the current revision of a component, or the next one if its spec changed.
func revisionOf(component *v1alpha1.Component) int64 {
	revision := component.Status.Revision
	if component.Generation != component.Status.ObservedGeneration {
		revision++
	}
	return max(revision, 1)
}

// read returns the content of the references of a component.
func (r Reader) read(ctx context.Context, component *v1alpha1.Component) (generator.References, error) {
	references := generator.References{}
	for _, wanted := range component.References() {
		if wanted.Credential && !r.Credentials {
			continue
		}
		if wanted.Kind == metav1alpha1.ComponentReference {
			if err := r.readExport(ctx, component.Namespace, wanted, references); err != nil {
				return nil, err
			}
			continue
		}
		data, err := content(ctx, r.Client, client.ObjectKey{Namespace: component.Namespace, Name: wanted.Name}, wanted.Kind)
		if apierrors.IsNotFound(err) && wanted.Optional {
			continue
		}
		if err != nil {
			return nil, err
		}
		references[generator.Reference{Kind: wanted.Kind, Namespace: component.Namespace, Name: wanted.Name}] = data
	}
	return references, nil
}

// readExport adds a published export of another component to references, if it has a value.
func (r Reader) readExport(
	ctx context.Context, namespace string, wanted metav1alpha1.Reference, references generator.References,
) error {
	other := &unstructured.Unstructured{}
	other.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Component"))
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: wanted.Name}, other)
	if apierrors.IsNotFound(err) && wanted.Optional {
		return nil
	}
	if err != nil {
		return err
	}
	value, found, err := unstructured.NestedFieldNoCopy(other.Object, "status", "exports", wanted.Export)
	if !found || err != nil {
		return nil // The rendering reports a missing value that is not optional.
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return err
	}
	reference := generator.Reference{Kind: wanted.Kind, Namespace: namespace, Name: wanted.Name}
	if references[reference] == nil {
		references[reference] = map[string][]byte{}
	}
	references[reference][wanted.Export] = encoded
	return nil
}

func content(
	ctx context.Context, c client.Client, key client.ObjectKey, kind metav1alpha1.ReferenceKind,
) (map[string][]byte, error) {
	if kind == metav1alpha1.SecretReference {
		secret := &corev1.Secret{}
		err := c.Get(ctx, key, secret)
		return secret.Data, err
	}
	configMap := &corev1.ConfigMap{}
	if err := c.Get(ctx, key, configMap); err != nil {
		return nil, err
	}
	data := make(map[string][]byte, len(configMap.Data)+len(configMap.BinaryData))
	for name, text := range configMap.Data {
		data[name] = []byte(text)
	}
	maps.Copy(data, configMap.BinaryData)
	return data, nil
}

// fetched returns the files of a source that is outside of the cluster, and nil for other sources.
func (r Reader) fetched(ctx context.Context, c *v1alpha1.Component) (fs.FS, error) {
	ref := c.Source()
	if ref == nil {
		return nil, nil
	}
	fetcher := r.Fetcher
	if fetcher == nil {
		fetcher = fetch.NewHTTP(fetch.Options{})
	}
	files, err := fetcher.Fetch(ctx, *ref)
	if err != nil {
		return nil, fmt.Errorf("fetch the source: %w", err)
	}
	return files, nil
}
