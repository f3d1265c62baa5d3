package main

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// creators is the number of concurrent requests of the benchmark that create or delete components.
const creators = 8

//go:embed templates/*.yaml
var templates embed.FS

// Each of these values selects the dependents of the measured components. The value is the name of a file in the folder
// templates.
const (
	ofConfigMaps  = "configmaps.yaml"
	ofApplication = "application.yaml"
	ofTenKinds    = "tenkinds.yaml"
	ofUnready     = "unready.yaml"
)

// workload is a number of equal components in their own namespace.
type workload struct {
	namespace  string
	templates  string
	components int
	// identities is set if each component acts as its own service account.
	identities bool
	update     metav1alpha1.UpdatePolicy
	values     values
}

// values are the values that the templates read.
type values struct {
	Count   int    `json:"count"`
	Waves   int    `json:"waves"`
	Changed int    `json:"changed"`
	Text    string `json:"text"`
	// Ballast is the number of additional pieces of 64 bytes in each object.
	Ballast int `json:"ballast"`
}

// configMapsOf returns a workload of components with ConfigMaps.
func configMapsOf(namespace string, s size) workload {
	return workload{
		namespace: namespace, templates: ofConfigMaps, components: s.components,
		values: values{Count: s.dependents, Waves: max(s.waves, 1), Changed: -1},
	}
}

// floorOf returns the objects that the bare client writes. They are the same objects that configMapsOf renders.
func floorOf(s size) []*unstructured.Unstructured {
	objects := make([]*unstructured.Unstructured, 0, s.objects())
	for c := range s.components {
		for i := range s.dependents {
			objects = append(objects, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1",
				"kind":       "ConfigMap",
				"metadata":   map[string]any{"name": fmt.Sprintf("%s-%d", componentName(c), i)},
				"data":       map[string]any{"number": fmt.Sprint(i), "text": "as it was"},
			}})
		}
	}
	return objects
}

func componentName(i int) string { return fmt.Sprintf("%s%04d", ownPrefix, i) }

func identityName(i int) string { return fmt.Sprintf("identity-%04d", i) }

func (w workload) component(i int) (*v1alpha1.Component, error) {
	files, err := templates.ReadFile("templates/" + w.templates)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(w.values)
	if err != nil {
		return nil, err
	}
	c := &v1alpha1.Component{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: componentName(i)},
		Spec: v1alpha1.ComponentSpec{
			Source: v1alpha1.Source{
				Inline: &v1alpha1.InlineSource{Files: map[string]string{w.templates: string(files)}},
			},
			Values:       &runtime.RawExtension{Raw: raw},
			PoliciesSpec: metav1alpha1.PoliciesSpec{UpdatePolicy: w.update},
		},
	}
	if w.identities {
		c.Spec.ServiceAccount = identityName(i)
	}
	return c, nil
}

// create creates the components, and waits until all of them are Ready.
func (s *stage) create(ctx context.Context, w workload) error {
	if err := s.createOnly(ctx, w); err != nil {
		return err
	}
	return s.awaitReady(ctx, w.namespace, w.components, 1)
}

func (s *stage) createOnly(ctx context.Context, w workload) error {
	return parallel(ctx, creators, w.components, func(ctx context.Context, i int) error {
		c, err := w.component(i)
		if err != nil {
			return err
		}
		return s.admin.Create(ctx, c)
	})
}

// remove deletes the components, and waits until they no longer exist.
func (s *stage) remove(ctx context.Context, w workload) error {
	err := parallel(ctx, creators, w.components, func(ctx context.Context, i int) error {
		return s.admin.Delete(
			ctx,
			&v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: componentName(i)}},
		)
	})
	if err != nil {
		return err
	}
	return s.awaitDeletion(ctx, w.namespace)
}

// change gives the only component of the workload other values, and waits until the component is Ready with these
// values.
func (s *stage) change(ctx context.Context, w workload) error {
	c, err := w.component(0)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"values": c.Spec.Values}})
	if err != nil {
		return err
	}
	if err := s.admin.Patch(ctx, c, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		return err
	}
	return s.awaitReady(ctx, w.namespace, 1, c.Generation)
}

// tenKinds are the kinds in templates/tenkinds.yaml. Each kind has a tenth of the dependents.
var tenKinds = []schema.GroupVersionResource{
	{Version: "v1", Resource: "configmaps"},
	{Version: "v1", Resource: "secrets"},
	{Version: "v1", Resource: "serviceaccounts"},
	{Version: "v1", Resource: "services"},
	{Group: "apps", Version: "v1", Resource: "deployments"},
	{Group: "apps", Version: "v1", Resource: "statefulsets"},
	{Group: "batch", Version: "v1", Resource: "cronjobs"},
	{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"},
	{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
}
