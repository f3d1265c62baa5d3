package main

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

//go:embed templates/*
var templates embed.FS

// These are the prefixes of the names of components. Residents exist until the end, and guests are deleted at random.
const (
	resident = "resident"
	guest    = "guest"
)

// shape is a kind of component.
type shape struct {
	name      string
	templates string
	// update are the update policies of its dependents. recreate is excluded if other objects would be lost with a
	// dependent.
	update []metav1alpha1.UpdatePolicy
	// furnish adds further fields to the spec of a component. It is nil if the shape needs no further fields.
	furnish func(*v1alpha1.ComponentSpec)
}

var (
	inPlace = []metav1alpha1.UpdatePolicy{
		metav1alpha1.UpdateSSAOverride,
		metav1alpha1.UpdateSSAMerge,
		metav1alpha1.UpdateReplace,
	}
	anyUpdate = append([]metav1alpha1.UpdatePolicy{metav1alpha1.UpdateRecreate}, inPlace...)
)

var shapes = []shape{
	{name: "plain", templates: "plain.yaml", update: anyUpdate},
	{name: "wide", templates: "wide.yaml", update: anyUpdate},
	{name: "workload", templates: "workload.yaml", update: inPlace},
	{
		name:      "identity",
		templates: "plain.yaml",
		update:    anyUpdate,
		furnish:   func(s *v1alpha1.ComponentSpec) { s.ServiceAccount = identityName },
	},
	{name: "remote", templates: "plain.yaml", update: anyUpdate, furnish: func(s *v1alpha1.ComponentSpec) {
		s.Target = &metav1alpha1.KubeConfigSource{SecretRef: metav1alpha1.KubeConfigKey{Name: kubeconfigName}}
	}},
	{name: "phases", templates: "phases.yaml", update: anyUpdate},
	{name: "kept", templates: "kept.yaml", update: inPlace},
	{name: "lookup", templates: "lookup.yaml", update: inPlace},
	{name: "reference", templates: "reference.yaml", update: inPlace, furnish: func(s *v1alpha1.ComponentSpec) {
		s.ValuesFrom = []metav1alpha1.ValuesReference{{Kind: metav1alpha1.ConfigMapReference, Name: settingsName}}
	}},
	{name: "namespace", templates: "namespace.yaml", update: inPlace},
	{name: "definition", templates: "definition.yaml", update: inPlace},
}

// values are the values that the templates read.
type values struct {
	Count int    `json:"count"`
	Waves int    `json:"waves"`
	Text  string `json:"text"`
}

// component is a component that should exist.
type component struct {
	shape  shape
	values values
}

// choose returns random values.
func (w *world) choose() values {
	w.named++
	return values{Count: 1 + w.random.IntN(6), Waves: 1 + w.random.IntN(3), Text: fmt.Sprintf("text-%d", w.named)}
}

func (w *world) create(ctx context.Context, name string, s shape) error {
	c := &component{shape: s, values: w.choose()}
	files, err := sources(s.templates)
	if err != nil {
		return err
	}
	object := &v1alpha1.Component{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.ComponentSpec{
			Source:       v1alpha1.Source{Inline: &v1alpha1.InlineSource{Files: files}},
			PoliciesSpec: metav1alpha1.PoliciesSpec{UpdatePolicy: pick(w.random, s.update)},
			RetrySpec:    metav1alpha1.RetrySpec{RetryDuration: &metav1.Duration{Duration: retryInterval}},
		},
	}
	if object.Spec.Values, err = c.values.raw(); err != nil {
		return err
	}
	if s.furnish != nil {
		s.furnish(&object.Spec)
	}
	if err := w.admin.Create(ctx, object); err != nil {
		return err
	}
	w.population[name] = c
	return nil
}

func (v values) raw() (*runtime.RawExtension, error) {
	raw, err := json.Marshal(v)
	return &runtime.RawExtension{Raw: raw}, err
}

// sources returns the file with the templates of a shape, and the file that all shapes share.
func sources(name string) (map[string]string, error) {
	files := map[string]string{}
	for _, file := range []string{name, "_metadata.tpl"} {
		content, err := templates.ReadFile("templates/" + file)
		if err != nil {
			return nil, err
		}
		files[file] = string(content)
	}
	return files, nil
}

// change gives a component other values.
func (w *world) change(ctx context.Context, name string) error {
	chosen := w.choose()
	raw, err := chosen.raw()
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"values": raw}})
	if err != nil {
		return err
	}
	if err := w.admin.Patch(ctx, named(name), client.RawPatch("application/merge-patch+json", patch)); err != nil {
		return err
	}
	w.population[name].values = chosen
	return nil
}

func (w *world) remove(ctx context.Context, name string) error {
	if err := w.admin.Delete(ctx, named(name)); err != nil {
		return err
	}
	delete(w.population, name)
	return nil
}

func named(name string) *v1alpha1.Component {
	return &v1alpha1.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}
