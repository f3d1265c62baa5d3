package reconcile

import (
	"context"
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apiservertest"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inventory"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records/secretstest"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

// recording is a ComponentRecord under test. The embedded world stores the component in a fake client. The embedded
// Server is a fake API server that stores Secrets.
type recording struct {
	*world
	ComponentRecord
	*secretstest.Server
}

func newRecording(t *testing.T, edits ...func(*part)) *recording {
	t.Helper()
	w := newWorld(t, edits...)
	options := components.Options{
		Name: reconciler, Finalizers: components.FinalizersOf(reconciler), GVK: partGVK,
		New:    func() (components.Object, error) { return &part{}, nil },
		Client: w.client(), Reader: w.client(), States: w.States.Objects(), StatusWritten: w.States.StatusWritten,
		OwnerChanged: func(manifests.Owner) {},
	}
	owners := components.NewOwners(options)
	r := &recording{world: w, Server: secretstest.New()}
	store := components.NewStore(options, owners, w.InFlight)
	secrets := records.NewStore(records.Options{
		Reconciler: reconciler, Dynamic: r.Dynamic(), Metadata: r.Metadata(), Clock: w.clock,
		NamespaceGoes: func(context.Context, string) bool { return false }, VerifyCluster: owners.VerifyCluster,
	})
	r.ComponentRecord = ComponentRecord{
		Inventories: inventory.NewStore(inventory.Options{
			Reconciler: reconciler, Finalizers: components.FinalizersOf(reconciler), StatusBytes: 256 << 10, Components: store,
			Owners: owners, Records: secrets,
			States: w.States.Inventories(),
		}),
		Secrets: secrets, Components: store, Owners: owners, States: w.States, DeletePolicy: metav1alpha1.DeleteOrphan,
	}
	return r
}

// addSecret stores a Secret.
func (r *recording) addSecret(name string) {
	r.Add(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"namespace": "shop", "name": name},
	}})
}

// protected reports whether a Secret has the finalizer that protects it for the component.
func (r *recording) protected(name string) bool {
	secret := r.Server.Secrets[types.NamespacedName{Namespace: "shop", Name: name}]
	return secret != nil && r.ComponentRecord.Secrets.Finalizers.Has(secret, owner)
}

func TestARecordIsReadBehindTheFinalizer(t *testing.T) {
	r := newRecording(t, withRecord, func(p *part) { p.Finalizers = nil })
	c := r.component()
	loaded, err := r.Load(t.Context(), c, owner, r.target)
	if err != nil || len(loaded.Entries) != 1 || loaded.RecordsFound || len(loaded.Events) != 0 {
		t.Errorf("got %+v, %v", loaded, err)
	}
	if !controllerutil.ContainsFinalizer(r.stored(), finalizer) {
		t.Error("the finalizer that somebody removed is missing")
	}
	recorded, err := r.Recorded(t.Context(), c, owner)
	if err != nil || !slices.EqualFunc(recorded, loaded.Entries, func(a, b metav1alpha1.InventoryEntry) bool {
		return a.Name == b.Name
	}) {
		t.Errorf("got %+v, %v", recorded, err)
	}
}

func TestALostRecordIsRecoveredFromTheOwnerLabels(t *testing.T) {
	server := apiservertest.New(t)
	connection, err := target.Connect(t.Context(), server.Config(), target.Options{
		Reconciler: reconciler, View: inspect.View{Reconciler: reconciler},
	})
	if err != nil {
		t.Fatal(err)
	}
	server.Put("v1", "ConfigMap", "shop", "settings", map[string]any{"metadata": map[string]any{
		"labels": map[string]any{reconciler + "/" + manifests.LabelOwnerID: owner.ID()},
		"annotations": map[string]any{
			reconciler + "/" + manifests.AnnotationOwnerID: owner.String(),
			reconciler + "/" + marks.AnnotationObject:      "ConfigMap shop/settings",
		},
	}})
	server.Refuse(func(request apiservertest.Request) error {
		if request.Path == "/apis/example.com/v1/widgets" {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "widgets"}, "", errOh)
		}
		return nil
	})
	r := newRecording(t, func(p *part) { p.Finalizers = []string{finalizer} })
	c := r.component()
	c.ManagedTypes = []metav1alpha1.TypePattern{{Group: "example.com", Kind: "Widget"}}
	at := target.Target{Client: connection.Own(), Local: connection.Own()}
	loaded, err := r.Load(t.Context(), c, owner, at)
	if err != nil || len(loaded.Entries) != 1 || loaded.Entries[0].Name != "settings" {
		t.Fatalf("got %+v, %v", loaded, err)
	}
	if loaded.Entries[0].DeletePolicy != metav1alpha1.DeleteOrphan {
		t.Errorf("the recovered entry has the delete policy %q, want orphan", loaded.Entries[0].DeletePolicy)
	}
	if len(loaded.Events) != 1 || loaded.Events[0].Reason != "InventoryIncomplete" {
		t.Errorf("Load returned the events %v, want InventoryIncomplete", loaded.Events)
	}
	if s := r.stored().Status; len(s.Inventory) != 1 || len(s.ManagedTypes) != 1 || s.Reconciler != reconciler {
		t.Errorf("the recovered inventory is not stored in the status: %+v", s)
	}
}

func TestRecoveryUsesThePoliciesAndTheIdentityOfTheComponent(t *testing.T) {
	server := apiservertest.New(t)
	connection, err := target.Connect(t.Context(), server.Config(), target.Options{
		Reconciler: reconciler, Namespaces: []string{"a"}, Scope: target.WatchIdentity,
	})
	if err != nil {
		t.Fatal(err)
	}
	as, err := connection.As(target.Identity{User: "u"})
	if err != nil {
		t.Fatal(err)
	}
	c := &Component{Object: &part{}, Declared: Declared{
		Namespace: "shop", Policies: metav1alpha1.Policies{Delete: metav1alpha1.DeleteDelete},
		ManagedTypes: []metav1alpha1.TypePattern{{Kind: "*"}},
	}}
	got := RecoveryOf(c, target.Target{Client: as}, metav1alpha1.DeleteOrphan)
	if got.DeletePolicy != metav1alpha1.DeleteDelete || got.Namespace != "shop" ||
		!slices.Equal(got.Namespaces, []string{"a"}) {
		t.Errorf("got %+v", got)
	}
	if got.User != "u" || got.AsOperator || got.Remote || got.ManagedTypes != nil {
		t.Errorf("got %+v", got)
	}
}

func TestTheKubeconfigIsProtectedAndReleased(t *testing.T) {
	r := newRecording(t)
	for _, name := range []string{"first", "second"} {
		r.addSecret(name)
	}
	c := r.component()
	protect := func(secret string) {
		t.Helper()
		c.Target.KubeConfig = nil
		if secret != "" {
			c.Target.KubeConfig = &metav1alpha1.KubeConfigReference{Name: secret}
		}
		if err := r.ProtectKubeconfig(t.Context(), c, owner); err != nil {
			t.Fatal(err)
		}
		if c.GetStatus().TargetSecret != secret || secret != "" && !r.protected(secret) {
			t.Errorf("the Secret %q has no finalizer, or the status does not name it: %+v", secret, c.GetStatus())
		}
	}
	protect("first")
	protect("second")
	if r.protected("first") {
		t.Error("the previous Secret still has the finalizer")
	}
	r.Requests = nil
	protect("second")
	if len(r.Requests) != 0 {
		t.Errorf("the Secret got the finalizer a second time: %q", r.Requests)
	}
	protect("")
	if r.protected("second") {
		t.Error("the previous Secret still has the finalizer")
	}
	c.Target.KubeConfig = &metav1alpha1.KubeConfigReference{Name: "absent"}
	if err := r.ProtectKubeconfig(t.Context(), c, owner); err == nil || c.GetStatus().TargetSecret != "" {
		t.Errorf("ProtectKubeconfig for a Secret that does not exist returned %v, want an error", err)
	}
}

func TestALostFinalizerOfTheKubeconfigIsAddedAgain(t *testing.T) {
	for _, c := range []struct {
		name                     string
		protected, secretDeleted bool
		edits                    []func(*part)
		lost                     bool
	}{
		{name: "the Secret has the finalizer", protected: true},
		{name: "somebody removed the finalizer", lost: true},
		{
			name: "somebody removed the finalizer while the component is being deleted", edits: []func(*part){deleted},
			lost: true,
		},
		{name: "the Secret is being deleted", secretDeleted: true, lost: true},
		{name: "the Secret is deleted together with the component", secretDeleted: true, edits: []func(*part){deleted}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRecording(t, c.edits...)
			r.addSecret("remote")
			component := r.component()
			component.Target.KubeConfig = &metav1alpha1.KubeConfigReference{Name: "remote"}
			if err := r.ProtectKubeconfig(t.Context(), component, owner); err != nil {
				t.Fatal(err)
			}
			secret := r.Server.Secrets[types.NamespacedName{Namespace: "shop", Name: "remote"}]
			if !c.protected {
				secret.SetFinalizers(nil)
			}
			if c.secretDeleted {
				secret.SetDeletionTimestamp(new(metav1.NewTime(start)))
			}
			r.CheckKubeconfig(component, owner, target.Target{Kubeconfig: secret})
			if lost := component.GetStatus().TargetSecret == ""; lost != c.lost {
				t.Errorf("the finalizer is treated as lost: %t", lost)
			}
			before := *component.GetStatus()
			r.CheckKubeconfig(component, owner, target.Target{})
			if component.GetStatus().TargetSecret != before.TargetSecret {
				t.Error("the finalizer of a Secret that was not read is treated as lost")
			}
		})
	}
}

// recordedSet returns a set with one object of a deletion phase.
func recordedSet(t *testing.T) rendering.Set {
	t.Helper()
	return phaseSet(t, "bye")
}

// phaseSet returns a set with the named objects of a deletion phase.
func phaseSet(t *testing.T, names ...string) rendering.Set {
	t.Helper()
	var bodies []*unstructured.Unstructured
	for _, name := range names {
		bodies = append(bodies, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
				"name": name, "annotations": map[string]any{
					reconciler + "/" + manifests.AnnotationPhase: string(manifests.PhasePreDelete),
				},
			},
		}})
	}
	objects, err := rendering.Normalise(bodies, normalise.Options{
		Reconciler: reconciler, Namespace: "shop", Owner: owner,
		ScopeOf: func(schema.GroupVersionKind) (manifests.Scope, error) { return manifests.ScopeNamespaced, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return rendering.Set{Objects: objects}
}

func TestPhasesAreRecordedAndRecalled(t *testing.T) {
	server := apiservertest.New(t)
	connection, err := target.Connect(t.Context(), server.Config(), target.Options{Reconciler: reconciler})
	if err != nil {
		t.Fatal(err)
	}
	r := newRecording(t)
	c := r.component()
	if err := r.Begin(t.Context(), c, owner, recordedSet(t)); err != nil {
		t.Fatal(err)
	}
	if c.GetStatus().PhaseRecord == "" || len(r.Names("shop")) != 1 {
		t.Fatalf("the status %+v must name the phase record, and one Secret must exist; got %q", c.GetStatus(),
			r.Names("shop"))
	}
	request := applier.Request{Owner: owner, Inventory: []metav1alpha1.InventoryEntry{settings}}
	at := target.Target{Client: connection.Own()}
	pre, post, events, err := r.Phases(t.Context(), c, request, at)
	if err != nil || len(pre) != 1 || pre[0].Key.Name != "bye" || len(post) != 0 || len(events) != 0 {
		t.Errorf("got %v, %v, %v, %v", pre, post, events, err)
	}
	clear(r.Server.Secrets)
	pre, post, events, err = r.Phases(t.Context(), c, request, at)
	if err != nil || len(pre)+len(post) != 0 || len(events) != 1 || events[0].Reason != "PhasesLost" {
		t.Errorf("a lost phase record: got the objects %v and %v, the events %v and the error %v", pre, post, events, err)
	}
}

func TestNothingIsRecordedOfASetWhosePinnedValuesCannotBe(t *testing.T) {
	r := newRecording(t)
	r.Refuse = func(string, string) error { return apierrors.NewForbidden(corev1.Resource("secrets"), "", errOh) }
	set := recordedSet(t)
	set.ID = "pinned"
	c := r.component()
	if err := r.Begin(t.Context(), c, owner, set); err == nil || c.GetStatus().PhaseRecord != "" {
		t.Errorf("got %+v, %v", c.GetStatus(), err)
	}
}

func TestAllRecordsOfADeletedComponentEnd(t *testing.T) {
	r := newRecording(t, withRecord)
	r.addSecret("first")
	r.addSecret("second")
	c := r.component()
	c.Target.KubeConfig = &metav1alpha1.KubeConfigReference{Name: "first"}
	if err := r.ProtectKubeconfig(t.Context(), c, owner); err != nil {
		t.Fatal(err)
	}
	if err := r.Begin(t.Context(), c, owner, recordedSet(t)); err != nil {
		t.Fatal(err)
	}
	// Simulate a crash: the second Secret has the finalizer, but the status does not name this Secret.
	if err := r.ComponentRecord.Secrets.Finalizers.Move(t.Context(), owner, "", "second"); err != nil {
		t.Fatal(err)
	}
	c.Target.KubeConfig.Name = "second"
	c.GetStatus().AppliedDigest, c.GetStatus().AppliedGeneration = "inputs", 3
	if err := r.server.Delete(t.Context(), r.stored()); err != nil {
		t.Fatal(err)
	}
	c.SetDeletionTimestamp(r.stored().GetDeletionTimestamp())
	r.steps = nil
	if err := r.End(t.Context(), c, owner); err != nil {
		t.Fatal(err)
	}
	r.expect("write the status")
	if s := r.stored().Status; len(s.Inventory) != 0 || s.AppliedDigest != "" || s.AppliedGeneration != 0 {
		t.Errorf("the stored status still has an inventory or an applied digest: %+v", s)
	}
	if r.protected("first") || r.protected("second") || !slices.Equal(r.Names("shop"), []string{"first", "second"}) {
		t.Errorf("a Secret still has the finalizer, or was deleted; these Secrets exist: %q", r.Names("shop"))
	}
	// The status already has an empty inventory, so the second call of End does not write the status.
	if err := r.End(t.Context(), c, owner); err != nil {
		t.Error(err)
	}
	r.expect()
}

func TestNoSecretIsTouchedUnlessTheEmptyRecordIsWritten(t *testing.T) {
	r := newRecording(t, withRecord)
	r.addSecret("remote")
	c := r.component()
	c.Target.KubeConfig = &metav1alpha1.KubeConfigReference{Name: "remote"}
	if err := r.ProtectKubeconfig(t.Context(), c, owner); err != nil {
		t.Fatal(err)
	}
	r.fails["write the status"] = errOh
	if err := r.End(t.Context(), c, owner); !errors.Is(err, errOh) || !r.protected("remote") {
		t.Errorf("End must fail and keep the finalizer of the Secret, got the error %v", err)
	}
}

func TestSecretsAreReleasedIfSomebodyRemovedTheFinalizer(t *testing.T) {
	for _, c := range []struct {
		name    string
		release func(*recording) error
		want    bool
	}{
		{
			"and created the component again",
			func(r *recording) error { return r.ReleaseLeft(r.t.Context(), web, "another") }, true,
		},
		{
			"but not while the component exists",
			func(r *recording) error { return r.ReleaseLeft(r.t.Context(), web, "u") }, false,
		},
		{
			"and the component no longer exists",
			func(r *recording) error {
				deleted := r.server.Delete(r.t.Context(), r.stored())
				return errors.Join(deleted, r.ReleaseVanished(r.t.Context(), web))
			}, true,
		},
		{
			"but not if only the cache has no such component",
			func(r *recording) error { return r.ReleaseVanished(r.t.Context(), web) }, false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRecording(t)
			r.addSecret("remote")
			component := r.component()
			component.Target.KubeConfig = &metav1alpha1.KubeConfigReference{Name: "remote"}
			if err := r.ProtectKubeconfig(t.Context(), component, owner); err != nil {
				t.Fatal(err)
			}
			r.RememberOwned(component)
			if err := c.release(r); err != nil {
				t.Fatal(err)
			}
			if released := !r.protected("remote"); released != c.want {
				t.Errorf("the finalizer of the Secret was removed: %t, want the opposite", released)
			}
		})
	}
}

func TestNothingIsReadForAVanishedComponentWithoutSecrets(t *testing.T) {
	r := newRecording(t)
	if err := r.ReleaseVanished(t.Context(), web); err != nil || len(r.Requests) != 0 {
		t.Errorf("ReleaseVanished sent the requests %q and returned %v, want no request", r.Requests, err)
	}
	if err := r.DeleteStale(t.Context(), r.component()); err != nil || len(r.Requests) != 0 {
		t.Errorf("DeleteStale sent the requests %q and returned %v, want no request", r.Requests, err)
	}
}

func TestAnInventoryIsEnteredIntoTheStatus(t *testing.T) {
	r := newRecording(t)
	c := r.component()
	entries := []metav1alpha1.InventoryEntry{settings}
	if err := r.WriteInventory(t.Context(), c, components.RefOf(c.GetStatus()), entries); err != nil {
		t.Fatal(err)
	}
	if s := c.GetStatus(); len(s.Inventory) != 1 || s.InventoryDigest != components.InventoryDigest(s.Inventory) {
		t.Errorf("got %+v", s)
	}
}
