// Package notes renders the notes of a component (NOTES.txt of a chart). It also builds the request with which the
// commands notes, why and rbac render a component in the same way as its operator.
//
// The package reads with the rights of the person who runs the command, and writes nothing.
package notes

import (
	"context"
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
	"github.com/fairlead-io/fairlead/internal/operator"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/source/fetch"
)

// Of returns the notes of a component of the ready-made operator. They are empty if the component has no notes. If the
// dependents are in another cluster, look-ups find no objects, and the version of the cluster is unknown.
func Of(ctx context.Context, c client.Client, about Discovery, obj *unstructured.Unstructured) (string, error) {
	component := &v1alpha1.Component{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, component); err != nil {
		return "", err
	}
	g, err := operator.NewGenerator(operator.RenderOptions{})
	if err != nil {
		return "", err
	}
	req, err := Request(ctx, c, about, component)
	if err != nil {
		return "", err
	}
	return generator.NotesOf(ctx, g, req)
}

// Tests returns the objects of the tests of a component's chart, in the order in which they run. It is an error if the
// source of the component is no chart.
func Tests(
	ctx context.Context, c client.Client, about Discovery, component *v1alpha1.Component,
) ([]*unstructured.Unstructured, error) {
	g, err := operator.NewGenerator(operator.RenderOptions{Tests: true})
	if err != nil {
		return nil, err
	}
	req, err := Request(ctx, c, about, component)
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

// Request returns the request with which the operator renders a component. It reads the component's inputs with the
// rights of the person, and returns an error if the person may not read them.
func Request(
	ctx context.Context, c client.Client, about Discovery, component *v1alpha1.Component,
) (generator.Request, error) {
	var err error
	req := generator.Request{Component: component, Revision: revisionOf(component)}
	req.Namespace, req.Name = component.Placement()
	if req.References, err = read(ctx, c, component); err != nil {
		return req, err
	}
	if req.Source, err = fetched(ctx, component); err != nil {
		return req, err
	}
	if component.KubeConfig() == nil {
		if req.Capabilities, err = capabilities(about); err != nil {
			return req, err
		}
		req.Target = lookup{c}
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
func read(ctx context.Context, c client.Client, component *v1alpha1.Component) (generator.References, error) {
	references := generator.References{}
	for _, wanted := range component.References() {
		if wanted.Credential {
			continue
		}
		data, err := content(ctx, c, client.ObjectKey{Namespace: component.Namespace, Name: wanted.Name}, wanted.Kind)
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
func fetched(ctx context.Context, component *v1alpha1.Component) (fs.FS, error) {
	ref := component.Source()
	if ref == nil {
		return nil, nil
	}
	files, err := fetch.NewHTTP(fetch.Options{}).Fetch(ctx, *ref)
	if err != nil {
		return nil, fmt.Errorf("fetch the source: %w", err)
	}
	return files, nil
}
