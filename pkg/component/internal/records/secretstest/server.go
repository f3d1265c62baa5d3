package secretstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/metadata"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
)

// Server is a fake API server. New creates a Server; the zero value cannot be used. It is not safe for concurrent use.
type Server struct {
	// Secrets are the stored Secrets. A test may change them.
	Secrets map[types.NamespacedName]*unstructured.Unstructured
	// Refuse returns the error for a request that has to fail, and nil for a request that succeeds. If Refuse is nil,
	// no request is refused.
	Refuse func(verb, name string) error
	// Requests are the verbs and names of all requests that were sent.
	Requests []string
	// Reviews are the resource attributes of the received access reviews. Allowed is the result of every review.
	Reviews []map[string]string
	Allowed bool

	version int
}

// New returns an empty server that allows everything.
func New() *Server {
	return &Server{Secrets: map[types.NamespacedName]*unstructured.Unstructured{}, Allowed: true}
}

// Dynamic returns a client for whole objects.
func (s *Server) Dynamic() dynamic.Interface {
	client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	client.PrependReactor("*", "*", s.react)
	return client
}

// Metadata returns a client for metadata.
func (s *Server) Metadata() metadata.Interface {
	client := metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme())
	client.PrependReactor("*", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		_, obj, err := s.react(a)
		if secret, ok := obj.(*unstructured.Unstructured); ok {
			return true, metadataOf(secret), err
		}
		return true, obj, err
	})
	return client
}

func metadataOf(secret *unstructured.Unstructured) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	must(runtime.DefaultUnstructuredConverter.FromUnstructured(secret.Object, m))
	return m
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// react handles a request and returns the response.
func (s *Server) react(a clienttesting.Action) (bool, runtime.Object, error) {
	name := types.NamespacedName{Namespace: a.GetNamespace()}
	if named, ok := a.(interface{ GetName() string }); ok {
		name.Name = named.GetName()
	}
	created, creates := createdSecret(a)
	if creates {
		name.Name = created.GetName()
	}
	if updated, ok := a.(clienttesting.UpdateActionImpl); ok {
		if changed, ok := updated.GetObject().(*unstructured.Unstructured); ok {
			name.Name = changed.GetName()
		}
	}
	s.Requests = append(s.Requests, a.GetVerb()+" "+name.Name)
	if s.Refuse != nil {
		if err := s.Refuse(a.GetVerb(), name.Name); err != nil {
			return true, nil, err
		}
	}
	if creates {
		obj, err := s.create(name, created)
		return true, obj, err
	}
	switch action := a.(type) {
	case clienttesting.ListAction:
		return true, s.list(action), nil
	case clienttesting.PatchAction:
		obj, err := s.patch(name, action)
		return true, obj, err
	case clienttesting.UpdateActionImpl:
		obj, err := s.update(name, action)
		return true, obj, err
	case clienttesting.DeleteActionImpl:
		return true, nil, s.delete(name, action.DeleteOptions)
	case clienttesting.CreateAction:
		review, ok := action.GetObject().(*unstructured.Unstructured)
		if !ok {
			return true, nil, fmt.Errorf("unexpected %v", a)
		}
		asked, _, _ := unstructured.NestedStringMap(review.Object, "spec", "resourceAttributes")
		s.Reviews = append(s.Reviews, asked)
		return true, &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"allowed": s.Allowed}}}, nil
	}
	if secret, ok := s.Secrets[name]; ok {
		return true, secret.DeepCopy(), nil
	}
	return true, nil, apierrors.NewNotFound(corev1.Resource("secrets"), name.Name)
}

// createdSecret returns the Secret of a request that creates one.
func createdSecret(a clienttesting.Action) (*unstructured.Unstructured, bool) {
	action, ok := a.(clienttesting.CreateActionImpl)
	if !ok || action.GetResource().Resource != "secrets" {
		return nil, false
	}
	secret, ok := action.GetObject().(*unstructured.Unstructured)
	return secret, ok
}

func (s *Server) create(name types.NamespacedName, secret *unstructured.Unstructured) (runtime.Object, error) {
	if _, exists := s.Secrets[name]; exists {
		return nil, apierrors.NewAlreadyExists(corev1.Resource("secrets"), name.Name)
	}
	stored := secret.DeepCopy()
	stored.SetUID(types.UID(fmt.Sprintf("uid-%s-%d", name.Name, s.version)))
	stored.SetManagedFields(writtenBy(stored, metav1.ManagedFieldsOperationUpdate))
	s.Add(stored)
	return stored.DeepCopy(), nil
}

// update handles a PUT of a Secret.
func (s *Server) update(name types.NamespacedName, action clienttesting.UpdateActionImpl) (runtime.Object, error) {
	changed, ok := action.GetObject().(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("unexpected %v", action)
	}
	changed = changed.DeepCopy()
	secret, ok := s.Secrets[name]
	switch {
	case !ok:
		return nil, apierrors.NewNotFound(corev1.Resource("secrets"), name.Name)
	case changed.GetResourceVersion() != secret.GetResourceVersion():
		return nil, apierrors.NewConflict(corev1.Resource("secrets"), name.Name, errors.New("the Secret changed"))
	}
	s.Add(changed)
	return changed.DeepCopy(), nil
}

// writtenBy returns the managed fields of a record that was written by the reconciler whose name is the prefix of its
// labels.
func writtenBy(
	secret *unstructured.Unstructured, operation metav1.ManagedFieldsOperationType,
) []metav1.ManagedFieldsEntry {
	var entries []metav1.ManagedFieldsEntry
	data, _, err := unstructured.NestedMap(secret.Object, "data")
	must(err)
	fields := map[string]any{}
	for key := range data {
		fields["f:"+key] = map[string]any{}
	}
	text, err := json.Marshal(fields)
	must(err)
	for label := range secret.GetLabels() {
		if reconciler, ok := strings.CutSuffix(label, "/record-of"); ok {
			entries = append(entries, metav1.ManagedFieldsEntry{
				Manager: reconciler, Operation: operation,
				FieldsV1: metav1.NewFieldsV1(`{"f:data":` + string(text) + `,"f:metadata":{"f:labels":{"f:` + label + `":{}}}}`),
			})
		}
	}
	return entries
}

func (s *Server) list(action clienttesting.ListAction) runtime.Object {
	list := &metav1.List{}
	for _, name := range s.Names(action.GetNamespace()) {
		secret := s.Secrets[types.NamespacedName{Namespace: action.GetNamespace(), Name: name}]
		if action.GetListRestrictions().Labels.Matches(labelSet(secret.GetLabels())) {
			list.Items = append(list.Items, runtime.RawExtension{Object: metadataOf(secret)})
		}
	}
	return list
}

// labelSet implements labels.Labels.
type labelSet map[string]string

func (l labelSet) Has(key string) bool              { _, ok := l[key]; return ok }
func (l labelSet) Get(key string) string            { return l[key] }
func (l labelSet) Lookup(key string) (string, bool) { value, ok := l[key]; return value, ok }

// patch handles a server-side apply or a merge patch of a Secret. A merge patch must have a resource version.
func (s *Server) patch(name types.NamespacedName, action clienttesting.PatchAction) (runtime.Object, error) {
	changed := &unstructured.Unstructured{}
	must(json.Unmarshal(action.GetPatch(), &changed.Object))
	if action.GetPatchType() == types.ApplyPatchType {
		changed.SetUID(types.UID("uid-" + name.Name))
		changed.SetManagedFields(writtenBy(changed, metav1.ManagedFieldsOperationApply))
		s.Add(changed)
		return changed, nil
	}
	secret, ok := s.Secrets[name]
	switch {
	case !ok:
		return nil, apierrors.NewNotFound(corev1.Resource("secrets"), name.Name)
	case changed.GetResourceVersion() != secret.GetResourceVersion():
		return nil, apierrors.NewConflict(corev1.Resource("secrets"), name.Name, errors.New("the Secret changed"))
	}
	merge(secret.Object, changed.Object)
	s.Add(secret)
	if secret.GetDeletionTimestamp() != nil && len(secret.GetFinalizers()) == 0 {
		delete(s.Secrets, name)
	}
	return secret.DeepCopy(), nil
}

// merge changes an object by a JSON merge patch (RFC 7386).
func merge(object, patch map[string]any) {
	for key, value := range patch {
		inner, isMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(object, key)
		case isMap:
			previous, ok := object[key].(map[string]any)
			if !ok {
				previous = map[string]any{}
				object[key] = previous
			}
			merge(previous, inner)
		default:
			object[key] = value
		}
	}
}

func (s *Server) delete(name types.NamespacedName, options metav1.DeleteOptions) error {
	secret, ok := s.Secrets[name]
	if !ok {
		return apierrors.NewNotFound(corev1.Resource("secrets"), name.Name)
	}
	if *options.Preconditions.UID != secret.GetUID() {
		return apierrors.NewConflict(corev1.Resource("secrets"), name.Name, errors.New("the Secret has another UID"))
	}
	if *options.Preconditions.ResourceVersion != secret.GetResourceVersion() {
		return apierrors.NewConflict(corev1.Resource("secrets"), name.Name, errors.New("the Secret was changed"))
	}
	delete(s.Secrets, name)
	return nil
}

// Add stores a new version of a Secret.
func (s *Server) Add(secret *unstructured.Unstructured) {
	s.version++
	secret.SetResourceVersion(strconv.Itoa(s.version))
	s.Secrets[types.NamespacedName{Namespace: secret.GetNamespace(), Name: secret.GetName()}] = secret
}

// Names returns the names of the Secrets in a namespace.
func (s *Server) Names(namespace string) []string {
	var names []string
	for name := range maps.Keys(s.Secrets) {
		if name.Namespace == namespace {
			names = append(names, name.Name)
		}
	}
	slices.Sort(names)
	return names
}

// All returns the metadata of all Secrets.
func (s *Server) All() []*metav1.PartialObjectMetadata {
	var all []*metav1.PartialObjectMetadata
	for _, secret := range s.Secrets {
		all = append(all, metadataOf(secret))
	}
	return all
}
