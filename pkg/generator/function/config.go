package function

import (
	"encoding/base64"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/version"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// API version and kind of a functionConfig.
const (
	configAPIVersion = "function.fairlead.io/v1alpha1"
	configKind       = "FunctionConfig"
)

// functionConfig is the functionConfig of a ResourceList; see the package documentation.
type functionConfig struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   configMetadata `json:"metadata"`
	Spec       configSpec     `json:"spec"`
}

type configMetadata struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
}

type configSpec struct {
	Parameters map[string]any `json:"parameters"`
	Revision   int64          `json:"revision"`
	Digest     string         `json:"digest,omitempty"`
	Component  *resourceRef   `json:"component,omitempty"`
	Kubernetes configCluster  `json:"kubernetes"`
	Now        *time.Time     `json:"now,omitempty"`
	// Exports are the known values of exports.
	Exports map[string]any `json:"exports,omitempty"`
	// Inputs are the values of event sources.
	Inputs map[string]any `json:"inputs,omitempty"`
}

type configCluster struct {
	Version     string   `json:"version,omitempty"`
	APIVersions []string `json:"apiVersions,omitempty"`
}

// listOf returns the ResourceList for a request, with the contents of the selected references. References without
// content are skipped: they are optional objects that do not exist.
func listOf(req generator.Request, items []generator.Reference) *resourceList {
	config := &functionConfig{
		APIVersion: configAPIVersion, Kind: configKind, Metadata: configMetadata{Name: req.Name, Namespace: req.Namespace},
		Spec: configSpec{
			Parameters: req.Parameters, Revision: req.Revision, Digest: req.Digest, Exports: req.Exports.Known(),
			Inputs: req.Inputs,
			Kubernetes: configCluster{
				Version:     req.Capabilities.Version.GitVersion,
				APIVersions: req.Capabilities.APIVersions.All(),
			},
		},
	}
	if config.Spec.Parameters == nil {
		config.Spec.Parameters = map[string]any{}
	}
	if c := req.Component; c != nil {
		apiVersion, kind := c.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
		config.Spec.Component = &resourceRef{
			APIVersion: apiVersion,
			Kind:       kind,
			Namespace:  c.GetNamespace(),
			Name:       c.GetName(),
		}
	}
	if !req.Now.IsZero() {
		config.Spec.Now = new(req.Now.UTC())
	}
	list := &resourceList{APIVersion: listAPIVersion, Kind: listKind, FunctionConfig: config, Items: []map[string]any{}}
	for _, reference := range items {
		if data, found := req.References[reference]; found {
			list.Items = append(list.Items, itemOf(reference, data))
		}
	}
	return list
}

// itemOf returns the manifest of a Secret or ConfigMap.
func itemOf(reference generator.Reference, data map[string][]byte) map[string]any {
	texts, binary := map[string]any{}, map[string]any{}
	for key, content := range data {
		if reference.Kind == metav1alpha1.ConfigMapReference && utf8.Valid(content) {
			texts[key] = string(content)
			continue
		}
		binary[key] = base64.StdEncoding.EncodeToString(content)
	}
	item := map[string]any{
		"apiVersion": "v1", "kind": string(reference.Kind),
		"metadata": map[string]any{
			"name": reference.Name, "namespace": reference.Namespace, "annotations": map[string]any{localConfig: "true"},
		},
	}
	switch {
	case reference.Kind == metav1alpha1.SecretReference:
		item["data"] = binary
	case len(binary) > 0:
		item["data"], item["binaryData"] = texts, binary
	default:
		item["data"] = texts
	}
	return item
}

// requestOf returns the generator request for a ResourceList. The field Component of the request contains only a type,
// a namespace and a name.
func requestOf(list *resourceList) (generator.Request, error) {
	config := list.FunctionConfig
	if config == nil || config.APIVersion != configAPIVersion || config.Kind != configKind {
		return generator.Request{}, fmt.Errorf("want a functionConfig of kind %s, %s", configKind, configAPIVersion)
	}
	if config.Metadata.Name == "" {
		return generator.Request{}, errors.New("functionConfig: no metadata.name")
	}
	req := generator.Request{
		Name: config.Metadata.Name, Namespace: config.Metadata.Namespace,
		Parameters: config.Spec.Parameters, Revision: config.Spec.Revision, Digest: config.Spec.Digest,
		Capabilities: generator.Capabilities{
			Version: version.Info{
				GitVersion: config.Spec.Kubernetes.Version,
			}, APIVersions: generator.NewAPIVersions(config.Spec.Kubernetes.APIVersions...),
		},
		References: generator.References{}, Exports: generator.NewExports(config.Spec.Exports),
		Inputs: config.Spec.Inputs,
	}
	if c := config.Spec.Component; c != nil {
		component := &unstructured.Unstructured{}
		component.SetAPIVersion(c.APIVersion)
		component.SetKind(c.Kind)
		component.SetNamespace(c.Namespace)
		component.SetName(c.Name)
		req.Component = component
	}
	if config.Spec.Now != nil {
		req.Now = *config.Spec.Now
	}
	for i, item := range list.Items {
		reference, data, err := referenceOf(item)
		if err != nil {
			return generator.Request{}, fmt.Errorf("items[%d]: %w", i, err)
		}
		req.References[reference] = data
	}
	return req, nil
}

// referenceOf reads a Secret or ConfigMap from its manifest.
func referenceOf(item map[string]any) (generator.Reference, map[string][]byte, error) {
	object := unstructured.Unstructured{Object: item}
	reference := generator.Reference{
		Kind: metav1alpha1.ReferenceKind(object.GetKind()), Namespace: object.GetNamespace(), Name: object.GetName(),
	}
	encoded := "binaryData"
	switch {
	case object.GetAPIVersion() == "v1" && reference.Kind == metav1alpha1.SecretReference:
		encoded = "data"
	case object.GetAPIVersion() == "v1" && reference.Kind == metav1alpha1.ConfigMapReference:
	default:
		return reference, nil, errors.New("want a Secret or a ConfigMap")
	}
	data := map[string][]byte{}
	for _, field := range []string{"data", "binaryData"} {
		contents, _, err := unstructured.NestedStringMap(item, field)
		if err != nil {
			return reference, nil, fmt.Errorf("%s: want a map of strings", field)
		}
		for key, text := range contents {
			data[key] = []byte(text)
			if field != encoded {
				continue
			}
			if data[key], err = base64.StdEncoding.DecodeString(text); err != nil {
				return reference, nil, fmt.Errorf("%s[%s]: want base64", field, key)
			}
		}
	}
	return reference, data, nil
}
