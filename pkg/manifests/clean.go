package manifests

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func fixNamespace(body *unstructured.Unstructured, scope Scope, fallback string) error {
	switch scope {
	case ScopeNamespaced:
		if body.GetNamespace() == "" {
			body.SetNamespace(fallback)
		}
		if body.GetNamespace() == "" {
			return errors.New("metadata.namespace is missing, and the component has no namespace to put it in")
		}
	case ScopeCluster:
		if body.GetNamespace() != "" {
			unstructured.RemoveNestedField(body.Object, "metadata", "namespace")
		}
	case ScopeUnknown:
	}
	return nil
}

// serverFields are the fields of metadata that only the server sets.
var serverFields = []string{
	"uid", "resourceVersion", "generation", "managedFields", "selfLink",
	"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
}

// clean drops what only the server sets, and merges stringData as the server does, so that equal content has an equal digest. The status
// is dropped where it is a subresource; elsewhere it is a field like any other.
func clean(body *unstructured.Unstructured, statusIsSubresource bool) error {
	for _, field := range serverFields {
		unstructured.RemoveNestedField(body.Object, "metadata", field)
	}
	if statusIsSubresource || body.Object["status"] == nil {
		delete(body.Object, "status")
	}
	dropNullTimestamps(body.Object)
	if _, aggregated := body.Object["aggregationRule"]; aggregated && body.GetKind() == "ClusterRole" {
		// A controller fills in the rules; to claim them would be to fight it.
		delete(body.Object, "rules")
	}
	if body.GroupVersionKind().GroupKind() == (schema.GroupKind{Kind: "Secret"}) {
		return mergeStringData(body)
	}
	return nil
}

// dropNullTimestamps drops the null creationTimestamp that Go types leave in the metadata of pod templates and the like.
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

// mergeStringData writes the texts of a Secret to its data. No error quotes a value.
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
			errs = append(errs, fmt.Errorf("stringData[%s] is %s: quote it", key, typeName(text)))
		}
	}
	delete(secret.Object, "stringData")
	if len(data) > 0 {
		secret.Object["data"] = data
	}
	return errors.Join(errs...)
}

// checkData reports values that the API server could not decode.
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
			errs = append(errs, fmt.Errorf("data[%s] is %s: write it as base64, or as text under stringData", key, typeName(value)))
		}
	}
	return errs
}

// contentOf returns a map in a Secret; an empty one where there is none.
func contentOf(secret *unstructured.Unstructured, field string) (map[string]any, error) {
	switch content := secret.Object[field].(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return content, nil
	default:
		return nil, fmt.Errorf("%s is %s: write a map", field, typeName(content))
	}
}
