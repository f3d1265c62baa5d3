package preview

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apiservertest"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inventory"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/reconcile"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

var web = types.NamespacedName{Namespace: "shop", Name: "web"}

// shop is a component for tests.
type shop struct {
	corev1.ConfigMap
	status metav1alpha1.Status
}

func (s *shop) GetStatus() *metav1alpha1.Status { return &s.status }

// ownersOf returns Owners whose request for the cluster id returns the given error.
func ownersOf(answer error) *components.Owners {
	reader := interceptor.NewClient(fake.NewClientBuilder().WithScheme(runtime.NewScheme()).Build(), interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
			obj.SetUID("here")
			return answer
		},
	})
	states := &reconcile.States{}
	return components.NewOwners(components.Options{
		Name: reconciler, GVK: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Shop"},
		Reader: reader, States: states.Objects(), OwnerChanged: func(manifests.Owner) {},
	})
}

func TestTheOwnerOfAPreview(t *testing.T) {
	forbidden := apierrors.NewForbidden(corev1.Resource("namespaces"), "kube-system", errors.New("no role"))
	for _, c := range []struct {
		name    string
		answer  error
		cluster string
		fails   bool
	}{
		{"is in the cluster of the component", nil, "here", false},
		{"is in no cluster if the caller has no right to identify the cluster", forbidden, "", false},
		{"is an error if the API server fails", errors.New("oh"), "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &shop{}
			s.Namespace, s.Name = web.Namespace, web.Name
			got, err := Owners{ownersOf(c.answer)}.Of(t.Context(), s)
			if (err != nil) != c.fails || err == nil && (got.Cluster != c.cluster || got.Name != "web" || got.Kind != "Shop") {
				t.Errorf("the preview has the owner %+v, with the error %v", got, err)
			}
		})
	}
}

// targets returns the Targets of a preview, and the API server of a second cluster.
func (c *cluster) targets() (Targets, *apiservertest.Server) {
	remote := apiservertest.New(c.t)
	// The UID of an object depends on a counter of the server. Recreate the namespace, so that its UID differs from the
	// UID in the first cluster.
	remote.Delete("v1", "Namespace", "", "kube-system")
	remote.Put("v1", "Namespace", "", "kube-system", nil)
	return Targets{
		Local: c.client.Connection, Clock: clock.RealClock{}, DefaultServiceAccount: "deployer",
		Connect: func(ctx context.Context, config *rest.Config) (*target.Connection, error) {
			return target.Connect(ctx, config, target.Options{
				Reconciler: reconciler, View: inspect.View{Reconciler: reconciler},
			})
		},
	}, remote
}

// putKubeconfig stores a Secret with the name remote. The given key of the Secret contains a kubeconfig for the given
// server.
func (c *cluster) putKubeconfig(key, server string) {
	text := `{"apiVersion":"v1","kind":"Config","current-context":"c",` +
		`"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],` +
		`"clusters":[{"name":"c","cluster":{"server":"` + server +
		`","insecure-skip-tls-verify":true}}],"users":[{"name":"u","user":{}}]}`
	c.Put("v1", "Secret", "shop", "remote", map[string]any{
		"data": map[string]any{key: base64.StdEncoding.EncodeToString([]byte(text))},
	})
}

func TestAPreviewImpersonatesNobody(t *testing.T) {
	c := newCluster(t)
	targets, _ := c.targets()
	request := target.Request{Name: web, Owner: owner, Declaration: target.Declaration{ServiceAccount: "other"}}
	got, err := targets.Acquire(t.Context(), request)
	if err != nil || got.Client.User != "" || got.Local.User != "" || got.Cluster != "" {
		t.Errorf("the target must be the component's own cluster without a user, got %+v and the error %v", got, err)
	}
	request.Impersonate.User = "u"
	_, err = targets.Acquire(t.Context(), request)
	if failure := passerror.Of(err); failure == nil || failure.Reason != metav1alpha1.ReasonInvalidSpec {
		t.Errorf("a component with two identities is previewed without an InvalidSpec error: %v", failure)
	}
}

func TestAPreviewImpersonatesItsUser(t *testing.T) {
	c := newCluster(t)
	targets, remote := c.targets()
	targets.User = "system:serviceaccount:shop:deployer"
	c.putKubeconfig(metav1alpha1.DefaultKubeConfigKey, remote.ServeTLS(t))
	request := target.Request{Name: web, Owner: owner}
	got, err := targets.Acquire(t.Context(), request)
	if err != nil || got.Client.User != targets.User || got.Local.User != targets.User {
		t.Errorf("the target must have the user, got %+v and the error %v", got, err)
	}
	request.KubeConfig = &metav1alpha1.KubeConfigReference{Name: "remote"}
	got, err = targets.Acquire(t.Context(), request)
	if err != nil || got.Client.User != "" || got.Local.User != targets.User {
		t.Errorf("the own cluster must have the user, and the other must have none, got %+v and the error %v", got, err)
	}
}

func TestAPreviewReadsTheKubeconfig(t *testing.T) {
	c := newCluster(t)
	targets, remote := c.targets()
	request := target.Request{Name: web, Owner: owner}
	request.KubeConfig = &metav1alpha1.KubeConfigReference{Name: "remote"}
	fails := func(reason string) {
		t.Helper()
		_, err := targets.Acquire(t.Context(), request)
		if failure := passerror.Of(err); failure == nil || failure.Reason != reason {
			t.Errorf("the preview failed with %v, want the reason %s", failure, reason)
		}
	}
	fails(metav1alpha1.ReasonReferenceNotFound)
	c.putKubeconfig("other", remote.ServeTLS(t))
	fails(metav1alpha1.ReasonInvalidSpec)
	request.KubeConfig.Key = "other"
	got, err := targets.Acquire(t.Context(), request)
	want := string(remote.Object("v1", "Namespace", "", "kube-system").GetUID())
	if err != nil || got.Cluster != want || !got.Client.RemoteTarget || got.Local.Connection != c.client.Connection {
		t.Errorf("the target must be the second cluster, got %+v and the error %v", got, err)
	}
	if _, err := got.Client.Dynamic.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace("shop").
		Create(t.Context(), configMap("a", "1"), metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	if remote.Object("v1", "ConfigMap", "shop", "a") != nil {
		t.Error("the preview has written to the other cluster")
	}
	remote.Refuse(func(apiservertest.Request) error { return apierrors.NewUnauthorized("expired") })
	fails(metav1alpha1.ReasonForbidden)
	targets.Connect = func(context.Context, *rest.Config) (*target.Connection, error) { return nil, errors.New("oh") }
	fails(metav1alpha1.ReasonRetrying)
}

func TestAPreviewReadsReferencesInsteadOfWatchingThem(t *testing.T) {
	c := newCluster(t)
	c.Put("v1", "ConfigMap", "shop", "settings", map[string]any{"data": map[string]any{"a": "1"}})
	reference := func(kind metav1alpha1.ReferenceKind, name string, optional bool) metav1alpha1.Reference {
		return metav1alpha1.Reference{Kind: kind, Name: name, Optional: optional}
	}
	credential := reference(metav1alpha1.SecretReference, "credential", false)
	credential.Credential = true
	settings := generator.Reference{Kind: metav1alpha1.ConfigMapReference, Namespace: "shop", Name: "settings"}
	d := input.Declaration{Namespace: "shop", Name: "web", References: []metav1alpha1.Reference{
		credential, reference(metav1alpha1.ConfigMapReference, "settings", false),
		reference(metav1alpha1.SecretReference, "optional", true),
	}}
	inputs := Inputs{Reader: &input.Reader{GeneratorVersion: "1"}}
	at := target.Target{Client: c.client, Local: c.client}
	read, _, err := inputs.Read(t.Context(), web, d, at, nil)
	if err != nil || len(read.References) != 1 || string(read.References[0].Data()["a"]) != "1" || read.Digest == "" {
		t.Errorf("the preview read the inputs %+v, with the error %v", read, err)
	}
	for _, r := range c.Requests() {
		if r.Watch {
			t.Errorf("the preview sent a request for a watch: %s", r)
		}
	}
	inputs.Credentials = true
	_, _, err = inputs.Read(t.Context(), web, d, at, nil)
	if failure := passerror.Of(err); failure == nil || !strings.Contains(failure.Message, "credential") {
		t.Errorf("the missing credential must be an error, got %v", failure)
	}
	inputs.Credentials = false
	inputs.Contents = generator.References{settings: {"a": []byte("2")}}
	given, _, err := inputs.Read(t.Context(), web, d, at, nil)
	if err != nil || string(given.References[0].Data()["a"]) != "2" || given.Digest == read.Digest {
		t.Errorf("the preview does not use the given contents of references: %+v, %v", given, err)
	}
	d.References = append(d.References, reference(metav1alpha1.SecretReference, "missing", false))
	_, _, err = inputs.Read(t.Context(), web, d, at, nil)
	if failure := passerror.Of(err); failure == nil || failure.Reason != metav1alpha1.ReasonReferenceNotFound {
		t.Errorf("a missing reference must fail with ReferenceNotFound, got %v", failure)
	}
	d.ManagedTypes = []metav1alpha1.TypePattern{{Kind: "*"}}
	_, _, err = inputs.Read(t.Context(), web, d, at, nil)
	if failure := passerror.Of(err); failure == nil || failure.Reason != metav1alpha1.ReasonInvalidSpec {
		t.Errorf("an invalid managed type must fail with InvalidSpec, got %v", failure)
	}
}

func TestAPreviewReadsTheRecordAndWritesNone(t *testing.T) {
	c := newCluster(t)
	states, owners := &reconcile.States{}, ownersOf(nil)
	p := Inventory{Simulator: &Simulator{}, ComponentRecord: reconcile.ComponentRecord{
		States: states, Owners: owners,
		Inventories: inventory.NewStore(inventory.Options{
			Reconciler: reconciler, Finalizers: components.FinalizersOf(reconciler), Owners: owners,
			States: states.Inventories(),
			Records: records.NewStore(records.Options{
				Reconciler: reconciler, Dynamic: c.client.Dynamic, Metadata: c.client.Metadata, Clock: clock.RealClock{},
				NamespaceGoes: func(context.Context, string) bool { return false },
			}),
		}),
	}}
	s := &shop{}
	s.Namespace, s.Name = web.Namespace, web.Name
	entry := metav1alpha1.InventoryEntry{Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "a"}
	s.status.Inventory = []string{entry.String()}
	s.status.InventoryDigest = components.InventoryDigest(s.status.Inventory)
	s.status.Reconciler = reconciler
	component := &reconcile.Component{Object: s, State: states.Of(web)}
	at := target.Target{Client: c.client, Local: c.client}
	loaded, err := p.Load(t.Context(), component, owner, at)
	if err != nil || len(loaded.Entries) != 1 {
		t.Errorf("the recorded inventory must have one entry, got %+v and the error %v", loaded, err)
	}
	// A lost inventory is recovered for the forecast.
	s.status = metav1alpha1.Status{}
	s.Finalizers = []string{components.Finalizer(reconciler)}
	c.Put("v1", "ConfigMap", "shop", "b", map[string]any{"metadata": map[string]any{
		"labels": map[string]any{reconciler + "/" + manifests.LabelOwnerID: owner.ID()},
		"annotations": map[string]any{
			reconciler + "/" + manifests.AnnotationOwnerID: owner.String(),
			reconciler + "/" + marks.AnnotationObject:      "ConfigMap shop/b",
		},
	}})
	loaded, err = p.Load(t.Context(), component, owner, at)
	if err != nil || len(loaded.Entries) != 1 || loaded.Entries[0].Name != "b" || len(s.status.Inventory) != 0 {
		t.Errorf("the inventory must be recovered for the forecast without a change of the status, got %+v and the error %v",
			loaded, err)
	}
	p.CheckKubeconfig(component, owner, at)
	if err := errors.Join(
		p.ProtectKubeconfig(t.Context(), component, owner), p.Begin(t.Context(), component, owner, rendering.Set{}),
		p.WriteInventory(t.Context(), component, components.InventoryRef{}, loaded.Entries),
	); err != nil || s.status.TargetSecret != "" || len(s.status.Inventory) != 0 {
		t.Errorf("the preview changed the status %+v, or returned the error %v", s.status, err)
	}
	for _, r := range c.Requests() {
		if r.Method != "GET" {
			t.Errorf("the preview sent a write: %s", r)
		}
	}
}

func TestAFetchedSourceIsAtHand(t *testing.T) {
	files := fstest.MapFS{"a.yaml": &fstest.MapFile{}}
	got, found := Source{files}.Fetched(t.Context(), metav1alpha1.SourceReference{})
	again, err := Source{files}.Fetch(t.Context(), metav1alpha1.SourceReference{})
	if !found || got == nil || again == nil || err != nil {
		t.Errorf("got %v, %t, %v, %v", got, found, again, err)
	}
}

func TestDependentsThatTheCallerMayNotReadAreNamed(t *testing.T) {
	c := newCluster(t)
	c.desire(configMap("a", "1"))
	c.apply()
	c.Refuse(func(r apiservertest.Request) error {
		if !strings.Contains(r.Path, "/configmaps") {
			return nil
		}
		cause := errors.New(`User "me" cannot get resource "configmaps" in API group "" in the namespace "shop"`)
		return apierrors.NewForbidden(corev1.Resource("configmaps"), "a", cause)
	})
	f := c.preview()
	if len(f.Unread) != 1 || f.Unread[0].Name != "a" || len(f.Waiting) != 1 || !f.Waiting[0].Terminal {
		t.Errorf("the forecast must report the object that cannot be read, got %+v", f)
	}
}
