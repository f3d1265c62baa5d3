package normalise

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/builtintypes"
	"github.com/fairlead-io/fairlead/internal/objectmeta"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func fixNamespace(body *unstructured.Unstructured, scope manifests.Scope, fallback string) error {
	switch scope {
	case manifests.ScopeNamespaced:
		if body.GetNamespace() == "" {
			body.SetNamespace(fallback)
		}
		if body.GetNamespace() == "" {
			return errors.New("metadata.namespace is missing, and the component has no default namespace")
		}
	case manifests.ScopeCluster:
		if body.GetNamespace() != "" {
			unstructured.RemoveNestedField(body.Object, "metadata", "namespace")
		}
	case manifests.ScopeUnknown:
	}
	return nil
}

// serverFields are the metadata fields that only the API server sets.
var serverFields = []string{
	"uid", "resourceVersion", "generation", "managedFields", "selfLink",
	"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
}

// clean removes fields that only the API server sets, and merges stringData as the API server does, so that equal
// content has an equal digest. The status is removed if it is a subresource; otherwise it is an ordinary field.
func clean(body *unstructured.Unstructured, statusIsSubresource bool) error {
	for _, field := range serverFields {
		unstructured.RemoveNestedField(body.Object, "metadata", field)
	}
	if statusIsSubresource || body.Object["status"] == nil {
		delete(body.Object, "status")
	}
	dropNullTimestamps(body.Object)
	if builtintypes.IsBuiltIn(body.GroupVersionKind().Group) {
		dropEmptyProtocols(body.Object)
	}
	if _, aggregated := body.Object["aggregationRule"]; aggregated && body.GetKind() == "ClusterRole" {
		// A controller of Kubernetes sets the rules of an aggregated ClusterRole. If they were applied too, both would
		// overwrite each other.
		delete(body.Object, "rules")
	}
	if body.GroupVersionKind().GroupKind() == (schema.GroupKind{Kind: "Secret"}) {
		return mergeStringData(body)
	}
	return nil
}

// dropNullTimestamps removes null values of creationTimestamp, which Go types leave in metadata such as that of pod
// templates.
func dropNullTimestamps(value any) {
	switch v := value.(type) {
	case map[string]any:
		if metadata, ok := v["metadata"].(map[string]any); ok && metadata["creationTimestamp"] == nil {
			delete(metadata, "creationTimestamp")
		}
		for _, child := range v {
			dropNullTimestamps(child)
		}
	case []any:
		for _, item := range v {
			dropNullTimestamps(item)
		}
	}
}

// dropEmptyProtocols removes empty protocols of ports. They are the default for the API server, but a part of the key
// by which a server-side apply finds a port, so a port with an empty protocol would be added again beside itself.
func dropEmptyProtocols(value any) {
	switch v := value.(type) {
	case map[string]any:
		ports, _ := v["ports"].([]any)
		for _, port := range ports {
			if p, ok := port.(map[string]any); ok && p["protocol"] == "" {
				delete(p, "protocol")
			}
		}
		for _, child := range v {
			dropEmptyProtocols(child)
		}
	case []any:
		for _, item := range v {
			dropEmptyProtocols(item)
		}
	}
}

// mergeStringData merges stringData of a Secret into its data. Errors quote no value.
func mergeStringData(secret *unstructured.Unstructured) error {
	texts, err := contentOf(secret, "stringData")
	if err != nil {
		return err
	}
	data, err := contentOf(secret, "data")
	if err != nil {
		return err
	}
	errs := checkData(data)
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		switch text := texts[key].(type) {
		case string:
			data[key] = base64.StdEncoding.EncodeToString([]byte(text))
		case nil:
			data[key] = ""
		default:
			errs = append(errs, fmt.Errorf("stringData[%s] is %s: quote it", key, objectmeta.TypeName(text)))
		}
	}
	delete(secret.Object, "stringData")
	if len(data) > 0 {
		secret.Object["data"] = data
	}
	return errors.Join(errs...)
}

// checkData returns an error for each value that the API server cannot decode.
func checkData(data map[string]any) []error {
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(data)) {
		switch value := data[key].(type) {
		case nil:
		case string:
			if _, err := base64.StdEncoding.DecodeString(value); err != nil {
				errs = append(errs, fmt.Errorf("data[%s] is not base64; write plain text under stringData", key))
			}
		default:
			errs = append(errs, fmt.Errorf(
				"data[%s] is %s: write it as base64, or as text under stringData", key, objectmeta.TypeName(value)))
		}
	}
	return errs
}

// contentOf returns the map in a field of a Secret, or an empty map if the field is not set.
func contentOf(secret *unstructured.Unstructured, field string) (map[string]any, error) {
	switch content := secret.Object[field].(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return content, nil
	default:
		return nil, fmt.Errorf("%s is %s: write a map", field, objectmeta.TypeName(content))
	}
}

// clean calls the function clean for a manifest. It looks up whether the status of the type is a subresource only if
// the manifest has a status.
func (n normaliser) clean(body *unstructured.Unstructured, scope manifests.Scope) error {
	statusIsSubresource := true
	if body.Object["status"] != nil {
		var err error
		if statusIsSubresource, err = n.statusIsSubresource(body.GroupVersionKind(), scope); err != nil {
			return err
		}
	}
	return clean(body, statusIsSubresource)
}

// statusIsSubresource reports whether the status of a type is a subresource. If the set contains the definition of the
// type, that definition takes precedence over the definition in the cluster, as in the method scope. If a type is not
// served yet, the result does not matter, because its objects are normalised again before they are written.
func (n normaliser) statusIsSubresource(gvk schema.GroupVersionKind, scope manifests.Scope) (bool, error) {
	if answer, ok := n.statuses[gvk]; ok {
		return answer, nil
	}
	if builtintypes.IsBuiltIn(gvk.Group) || scope == manifests.ScopeUnknown || n.StatusIsSubresource == nil {
		return true, nil
	}
	return n.StatusIsSubresource(gvk)
}

// definedStatuses returns, for each version of a custom resource definition, whether its status is a subresource.
func definedStatuses(definition *unstructured.Unstructured, gk schema.GroupKind) map[schema.GroupVersionKind]bool {
	statuses := map[schema.GroupVersionKind]bool{}
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if !ok {
			continue
		}
		name, _, _ := unstructured.NestedString(version, "name")
		status, _, _ := unstructured.NestedFieldNoCopy(version, "subresources", "status")
		statuses[gk.WithVersion(name)] = status != nil
	}
	return statuses
}

// definedScope returns the scope in a custom resource definition.
func definedScope(obj *unstructured.Unstructured) manifests.Scope {
	scope, _, _ := unstructured.NestedString(obj.Object, "spec", "scope")
	switch scope {
	case "Cluster":
		return manifests.ScopeCluster
	case "Namespaced":
		return manifests.ScopeNamespaced
	}
	return manifests.ScopeUnknown
}
