package apiservertest

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// answer handles a request for an object or a list, and returns the body of the response.
func (s *Server) answer(r *http.Request, at address, dryRun bool) (any, error) {
	body := map[string]any{}
	if data, err := io.ReadAll(r.Body); err != nil {
		return nil, err
	} else if len(data) > 0 {
		must(json.Unmarshal(data, &body))
	}
	obj := &unstructured.Unstructured{Object: body}
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	switch r.Method {
	case http.MethodGet:
		return s.read(r, at)
	case http.MethodPost:
		at.name = obj.GetName()
		obj, err = s.create(at, obj, dryRun)
	case http.MethodPatch:
		obj, err = s.apply(at, obj, r.URL.Query().Get("fieldManager"), dryRun)
	case http.MethodPut:
		obj, err = s.update(at, obj, dryRun)
	case http.MethodDelete:
		return metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Success"},
			s.delete(at, body, dryRun)
	}
	if err != nil {
		return nil, err
	}
	return obj.Object, nil
}

// read handles a get or a list.
func (s *Server) read(r *http.Request, at address) (any, error) {
	reduced := onlyMetadata(r)
	if at.name != "" {
		obj := s.objects[at]
		if obj == nil {
			return nil, apierrors.NewNotFound(at.GroupResource(), at.name)
		}
		return shown(obj, reduced), nil
	}
	items := []any{}
	found, next := pageOf(s.matching(at, selector(r)), r, s.pageSize)
	for _, obj := range found {
		items = append(items, shown(obj, reduced))
	}
	apiVersion, kind := at.GroupVersion().String(), s.resources[at.GroupVersionResource].Kind+"List"
	if reduced {
		apiVersion, kind = metav1.SchemeGroupVersion.String(), "PartialObjectMetadataList"
	}
	return map[string]any{
		"apiVersion": apiVersion, "kind": kind, "items": items,
		"metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version), "continue": next},
	}, nil
}

// pageOf returns the objects of a page of a list, and the token of the next page; empty if the page is the last one.
func pageOf(
	all []*unstructured.Unstructured, r *http.Request, size int,
) (page []*unstructured.Unstructured, next string) {
	start, err := strconv.Atoi(cmp.Or(r.URL.Query().Get("continue"), "0"))
	must(err)
	if end := start + size; size > 0 && end < len(all) {
		return all[start:end], strconv.Itoa(end)
	}
	return all[start:], ""
}

// matching returns the objects of a collection, sorted.
func (s *Server) matching(at address, selected labels.Selector) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for other, obj := range s.objects {
		inside := other.GroupVersionResource == at.GroupVersionResource &&
			(at.namespace == "" || at.namespace == other.namespace)
		if inside && selected.Matches(labels.Set(obj.GetLabels())) {
			found = append(found, obj)
		}
	}
	slices.SortFunc(found, func(a, b *unstructured.Unstructured) int {
		return strings.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName())
	})
	return found
}

func selector(r *http.Request) labels.Selector {
	selected, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	must(err)
	return selected
}

func onlyMetadata(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")
}

func shown(obj *unstructured.Unstructured, reduced bool) map[string]any {
	if !reduced {
		return runtime.DeepCopyJSON(obj.Object)
	}
	return map[string]any{
		"apiVersion": metav1.SchemeGroupVersion.String(), "kind": "PartialObjectMetadata",
		"metadata": runtime.DeepCopyJSONValue(obj.Object["metadata"]),
	}
}

func (s *Server) create(at address, obj *unstructured.Unstructured, dryRun bool) (*unstructured.Unstructured, error) {
	if s.objects[at] != nil {
		return nil, apierrors.NewAlreadyExists(at.GroupResource(), at.name)
	}
	namespace := address{schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, "", at.namespace}
	if at.namespace != "" && s.objects[namespace] == nil {
		return nil, apierrors.NewNotFound(namespace.GroupResource(), at.namespace)
	}
	if at.Resource == "namespaces" {
		must(unstructured.SetNestedField(obj.Object, "Active", "status", "phase"))
	}
	if dryRun {
		return obj, nil
	}
	return s.store(at, obj), nil
}

// apply merges an apply configuration into an object. Unlike a real API server, it keeps fields that the configuration
// no longer has.
func (s *Server) apply(
	at address, config *unstructured.Unstructured, manager string, dryRun bool,
) (*unstructured.Unstructured, error) {
	live := s.objects[at]
	if live != nil && (config.GetUID() != "" && config.GetUID() != live.GetUID() ||
		config.GetResourceVersion() != "" && config.GetResourceVersion() != live.GetResourceVersion()) {
		return nil, apierrors.NewConflict(at.GroupResource(), at.name, errors.New("the resource version differs"))
	}
	if live == nil && config.GetUID() != "" {
		return nil, apierrors.NewConflict(at.GroupResource(), at.name, errors.New("no object with this UID exists"))
	}
	unstructured.RemoveNestedField(config.Object, "metadata", "uid")
	unstructured.RemoveNestedField(config.Object, "metadata", "resourceVersion")
	applied := &unstructured.Unstructured{Object: map[string]any{}}
	var entries []metav1.ManagedFieldsEntry
	if live != nil {
		applied = live.DeepCopy()
		entries = slices.DeleteFunc(live.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
			return e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply
		})
	}
	applied.Object = merge(applied.Object, config.Object)
	owned, err := json.Marshal(fieldsOf(config.Object))
	must(err)
	fields := &metav1.FieldsV1{}
	fields.SetRawBytes(owned)
	applied.SetManagedFields(append(entries, metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: at.GroupVersion().String(),
		FieldsType: "FieldsV1", FieldsV1: fields,
	}))
	switch {
	case live == nil:
		return s.create(at, applied, dryRun)
	case dryRun, reflect.DeepEqual(live.Object, applied.Object):
		return applied, nil
	}
	return s.store(at, applied), nil
}

// fieldsOf returns the fields of an apply configuration, in the form of managed fields.
func fieldsOf(config map[string]any) map[string]any {
	fields := map[string]any{}
	for key, value := range config {
		switch nested, isMap := value.(map[string]any); {
		case key == "apiVersion", key == "kind":
		case key == "metadata" && isMap:
			metadata := maps.Clone(nested)
			delete(metadata, "name")
			delete(metadata, "namespace")
			fields["f:"+key] = fieldsOf(metadata)
		case isMap:
			fields["f:"+key] = fieldsOf(nested)
		default:
			fields["f:"+key] = map[string]any{}
		}
	}
	return fields
}

func (s *Server) update(at address, obj *unstructured.Unstructured, dryRun bool) (*unstructured.Unstructured, error) {
	live := s.objects[at]
	switch {
	case live == nil:
		return nil, apierrors.NewNotFound(at.GroupResource(), at.name)
	case obj.GetResourceVersion() != "" && obj.GetResourceVersion() != live.GetResourceVersion():
		return nil, apierrors.NewConflict(at.GroupResource(), at.name, errors.New("the resource version differs"))
	case dryRun:
		return obj, nil
	}
	return s.store(at, obj), nil
}

// delete removes an object at once; finalizers are ignored.
func (s *Server) delete(at address, options map[string]any, dryRun bool) error {
	live := s.objects[at]
	if live == nil {
		return apierrors.NewNotFound(at.GroupResource(), at.name)
	}
	current := map[string]string{"uid": string(live.GetUID()), "resourceVersion": live.GetResourceVersion()}
	for field, value := range current {
		if wanted, set, _ := unstructured.NestedString(options, "preconditions", field); set && wanted != value {
			return apierrors.NewConflict(
				at.GroupResource(),
				at.name,
				errors.New("the precondition on "+field+" failed"),
			)
		}
	}
	if !dryRun {
		s.remove(at)
	}
	return nil
}

// merge adds fields to an object. If a field exists, maps are merged, and other values are replaced.
func merge(into, from map[string]any) map[string]any {
	for key, value := range from {
		nested, isMap := value.(map[string]any)
		if existing, ok := into[key].(map[string]any); ok && isMap {
			into[key] = merge(existing, nested)
			continue
		}
		into[key] = value
	}
	return into
}
