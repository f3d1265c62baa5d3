package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const reconciler = "parts.example.com"

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func owner(name string) manifests.Owner {
	return manifests.Owner{
		Cluster: "here", Reconciler: reconciler, Group: "example.com", Kind: "Part", Namespace: "shop", Name: name,
	}
}

// cluster is an API server that serves Secrets and access reviews.
type cluster struct {
	t       *testing.T
	clock   *clocktesting.FakePassiveClock
	secrets map[types.NamespacedName]*unstructured.Unstructured
	version int
	// refuse returns an error for requests that fail.
	refuse func(verb, name string) error
	// ending are the namespaces that are being deleted.
	ending []string
	// reviews are the access reviews, and their answers.
	reviews []map[string]string
	allowed bool
}

// newCluster returns an empty cluster, and a store in it.
func newCluster(t *testing.T) (*cluster, *Store) {
	c := &cluster{
		t: t, clock: clocktesting.NewFakePassiveClock(start), allowed: true,
		secrets: map[types.NamespacedName]*unstructured.Unstructured{},
	}
	whole := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	whole.PrependReactor("*", "*", c.react)
	metadata := metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme())
	metadata.PrependReactor("*", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		_, obj, err := c.react(a)
		if secret, ok := obj.(*unstructured.Unstructured); ok {
			return true, metadataOf(secret), err
		}
		return true, obj, err
	})
	return c, NewStore(Options{
		Reconciler: reconciler, Namespace: "operator", Dynamic: whole, Metadata: metadata, Clock: c.clock,
		NamespaceGoes: func(_ context.Context, namespace string) bool { return slices.Contains(c.ending, namespace) },
		VerifyCluster: func(_ context.Context, name types.NamespacedName) error {
			if name.Name == "elsewhere" {
				return errors.New("another cluster")
			}
			return nil
		},
	})
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

// react answers a request.
func (c *cluster) react(a clienttesting.Action) (bool, runtime.Object, error) {
	name := types.NamespacedName{Namespace: a.GetNamespace()}
	if named, ok := a.(interface{ GetName() string }); ok {
		name.Name = named.GetName()
	}
	if c.refuse != nil {
		if err := c.refuse(a.GetVerb(), name.Name); err != nil {
			return true, nil, err
		}
	}
	switch action := a.(type) {
	case clienttesting.ListAction:
		return true, c.list(action), nil
	case clienttesting.PatchAction:
		obj, err := c.patch(name, action)
		return true, obj, err
	case clienttesting.DeleteActionImpl:
		return true, nil, c.delete(name, action.DeleteOptions)
	case clienttesting.CreateAction:
		review, ok := action.GetObject().(*unstructured.Unstructured)
		if !ok {
			c.t.Fatalf("unexpected %v", a)
		}
		asked, _, _ := unstructured.NestedStringMap(review.Object, "spec", "resourceAttributes")
		c.reviews = append(c.reviews, asked)
		return true, &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"allowed": c.allowed}}}, nil
	}
	if secret, ok := c.secrets[name]; ok {
		return true, secret.DeepCopy(), nil
	}
	return true, nil, apierrors.NewNotFound(corev1.Resource("secrets"), name.Name)
}

func (c *cluster) list(action clienttesting.ListAction) runtime.Object {
	list := &metav1.List{}
	for _, name := range c.names(action.GetNamespace()) {
		secret := c.secrets[types.NamespacedName{Namespace: action.GetNamespace(), Name: name}]
		if action.GetListRestrictions().Labels.Matches(labelSet(secret.GetLabels())) {
			list.Items = append(list.Items, runtime.RawExtension{Object: metadataOf(secret)})
		}
	}
	return list
}

type labelSet map[string]string

func (l labelSet) Has(key string) bool              { _, ok := l[key]; return ok }
func (l labelSet) Get(key string) string            { return l[key] }
func (l labelSet) Lookup(key string) (string, bool) { value, ok := l[key]; return value, ok }

// patch applies a Secret, or merges metadata into one.
func (c *cluster) patch(name types.NamespacedName, action clienttesting.PatchAction) (runtime.Object, error) {
	changed := &unstructured.Unstructured{}
	must(json.Unmarshal(action.GetPatch(), &changed.Object))
	if action.GetPatchType() == types.ApplyPatchType {
		changed.SetUID(types.UID("uid-" + name.Name))
		c.add(changed)
		return changed, nil
	}
	secret, ok := c.secrets[name]
	switch {
	case !ok:
		return nil, apierrors.NewNotFound(corev1.Resource("secrets"), name.Name)
	case changed.GetResourceVersion() != secret.GetResourceVersion():
		return nil, apierrors.NewConflict(corev1.Resource("secrets"), name.Name, errors.New("it changed"))
	}
	labels := secret.GetLabels()
	for key, value := range nested(changed.Object, "metadata", "labels") {
		if labels == nil {
			labels = map[string]string{}
		}
		delete(labels, key)
		if text, ok := value.(string); ok {
			labels[key] = text
		}
	}
	secret.SetLabels(labels)
	secret.SetFinalizers(changed.GetFinalizers())
	c.add(secret)
	if secret.GetDeletionTimestamp() != nil && len(secret.GetFinalizers()) == 0 {
		delete(c.secrets, name)
	}
	return secret.DeepCopy(), nil
}

func nested(obj map[string]any, fields ...string) map[string]any {
	found, _, _ := unstructured.NestedMap(obj, fields...)
	return found
}

func (c *cluster) delete(name types.NamespacedName, options metav1.DeleteOptions) error {
	secret, ok := c.secrets[name]
	if !ok {
		return apierrors.NewNotFound(corev1.Resource("secrets"), name.Name)
	}
	if *options.Preconditions.UID != secret.GetUID() {
		return apierrors.NewConflict(corev1.Resource("secrets"), name.Name, errors.New("it is another one"))
	}
	delete(c.secrets, name)
	return nil
}

// add stores a new version of a Secret.
func (c *cluster) add(secret *unstructured.Unstructured) {
	c.version++
	secret.SetResourceVersion(strconv.Itoa(c.version))
	c.secrets[types.NamespacedName{Namespace: secret.GetNamespace(), Name: secret.GetName()}] = secret
}

// addKubeconfig stores a Secret that is no record.
func (c *cluster) addKubeconfig(name string, finalizers ...string) *unstructured.Unstructured {
	secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
	secret.SetNamespace("shop")
	secret.SetName(name)
	secret.SetUID(types.UID("uid-" + name))
	secret.SetFinalizers(finalizers)
	c.add(secret)
	return secret
}

// names returns the names of the Secrets in a namespace.
func (c *cluster) names(namespace string) []string {
	var names []string
	for name := range maps.Keys(c.secrets) {
		if name.Namespace == namespace {
			names = append(names, name.Name)
		}
	}
	slices.Sort(names)
	return names
}

// all returns the metadata of all Secrets.
func (c *cluster) all() []*metav1.PartialObjectMetadata {
	var all []*metav1.PartialObjectMetadata
	for _, secret := range c.secrets {
		all = append(all, metadataOf(secret))
	}
	return all
}

// write writes a record with some content, and returns the names of its Secrets.
func write(t *testing.T, s *Store, o manifests.Owner, kind Kind, id string) string {
	t.Helper()
	parts, err := Encode([]string{"one", "two"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), o, Record{Kind: kind, ID: id}, parts); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s-%s-%s-0", kind, o.ID(), id)
}

func forbidden() error {
	return apierrors.NewForbidden(corev1.Resource("secrets"), "", errors.New(`User "op" cannot list`))
}
