package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apiservertest"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const name = "shops.example.com"

// standaloneOf returns a Standalone for a server.
func standaloneOf(t *testing.T, server *apiservertest.Server, remote bool, o StandaloneOptions) (*Standalone, error) {
	t.Helper()
	e, err := New(t.Context(), name, server.Config(), Options{RemoteTarget: remote})
	if err != nil {
		t.Fatal(err)
	}
	return NewStandalone(t.Context(), e, o)
}

func TestTheClusterOfTheOwnersIsNamed(t *testing.T) {
	for title, test := range map[string]struct {
		remote bool
		home   bool
		want   bool
	}{
		"in the cluster of the dependents": {},
		"in another cluster":               {remote: true, home: true},
		"not named":                        {remote: true, want: true},
		"named, although it is the same":   {home: true, want: true},
	} {
		t.Run(title, func(t *testing.T) {
			g := NewWithT(t)
			server := apiservertest.New(t)
			var o StandaloneOptions
			if test.home {
				o.Home = server.Config()
			}
			_, err := standaloneOf(t, server, test.remote, o)
			g.Expect(err != nil).To(Equal(test.want), "%v", err)
		})
	}
	g := NewWithT(t)
	_, err := standaloneOf(t, apiservertest.New(t), true, StandaloneOptions{Home: &rest.Config{
		TLSClientConfig: rest.TLSClientConfig{CertFile: "no such file"},
	}})
	g.Expect(err).To(MatchError(ContainSubstring("the cluster of the owners")))
}

func TestASetMayNotContainWhatItsDeletionNeeds(t *testing.T) {
	shop := manifests.Owner{Group: "example.com", Kind: "Shop", Namespace: "shop", Name: "web"}
	global := manifests.Owner{Group: "example.com", Kind: "Region", Name: "web"}
	record := records.NamePrefix(records.Inventory, shop.ID(), "x") + "-0"
	for title, test := range map[string]struct {
		owner  manifests.Owner
		key    manifests.Key
		phase  manifests.Phase
		remote bool
		want   string
	}{
		"any object": {owner: shop, key: manifests.Key{
			Kind: "ConfigMap", Namespace: "shop",
			Name: "a",
		}},
		"the owner":                    {owner: shop, key: shop.Component(), want: "dependent of itself"},
		"the owner in another cluster": {owner: shop, key: shop.Component(), remote: true},
		"a record": {owner: shop, key: manifests.Key{
			Kind: "Secret", Namespace: "shop",
			Name: record,
		}, want: "reserved"},
		"an object of a deletion phase": {
			owner: shop, key: manifests.Key{Kind: "ConfigMap", Name: "a"},
			phase: manifests.PhasePreDelete, want: "Request.PreDelete",
		},
		"the namespace of the records": {
			owner: global, key: manifests.Key{Kind: "Namespace", Name: "records"},
			want: "StandaloneOptions.Namespace",
		},
		"another namespace": {owner: global, key: manifests.Key{Kind: "Namespace", Name: "other"}},
		"that namespace in another cluster": {
			owner: global, key: manifests.Key{Kind: "Namespace", Name: "records"},
			remote: true,
		},
		"that namespace, not of these records": {owner: shop, key: manifests.Key{Kind: "Namespace", Name: "records"}},
	} {
		t.Run(title, func(t *testing.T) {
			g := NewWithT(t)
			server := apiservertest.New(t)
			o := StandaloneOptions{Namespace: "records"}
			if test.remote {
				o.Home = server.Config()
			}
			s, err := standaloneOf(t, server, test.remote, o)
			g.Expect(err).NotTo(HaveOccurred())
			err = s.refusal(test.owner, manifests.Object{Key: test.key, Settings: manifests.Settings{Phase: test.phase}})
			if test.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(test.want)))
		})
	}
}

func TestAPassThatContradictsItselfIsRefused(t *testing.T) {
	owner := manifests.Owner{Kind: "Set", Namespace: "shop", Name: "web"}
	for title, test := range map[string]struct {
		pass Request
		want string
	}{
		"with desired objects": {Request{Owner: owner, Desired: []manifests.Object{}}, "must be empty"},
		"with an inventory":    {Request{Owner: owner, Inventory: []metav1alpha1.InventoryEntry{}}, "must be empty"},
		"with WriteInventory": {Request{
			Owner: owner, WriteInventory: func(context.Context, []metav1alpha1.InventoryEntry) error { return nil },
		}, "must be empty"},
		"without a kind":          {Request{Owner: manifests.Owner{Namespace: "shop", Name: "web"}}, "needs a kind"},
		"without a name":          {Request{Owner: manifests.Owner{Kind: "Set", Namespace: "shop"}}, "needs a kind"},
		"of a cluster-scoped one": {Request{Owner: manifests.Owner{Kind: "Set", Name: "web"}}, "StandaloneOptions.Namespace"},
	} {
		t.Run(title, func(t *testing.T) {
			g := NewWithT(t)
			server := apiservertest.New(t)
			s, err := standaloneOf(t, server, false, StandaloneOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			_, err = s.Apply(t.Context(), test.pass, nil)
			g.Expect(err).To(MatchError(ContainSubstring(test.want)))
			_, err = s.Delete(t.Context(), test.pass)
			g.Expect(err).To(MatchError(ContainSubstring(test.want)))
			g.Expect(server.Writes()).To(BeEmpty())
		})
	}
}

func TestAPassOverAnObjectNeedsAClientAndAWake(t *testing.T) {
	g := NewWithT(t)
	server := apiservertest.New(t)
	render := func(context.Context) ([]*unstructured.Unstructured, error) { return nil, nil }
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	s, err := standaloneOf(t, server, false, StandaloneOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = s.Reconcile(t.Context(), obj, Request{}, render)
	g.Expect(err).To(MatchError(ContainSubstring("StandaloneOptions.Client")))

	c, err := client.New(server.Config(), client.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	s, err = standaloneOf(t, server, false, StandaloneOptions{Client: c})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = s.Reconcile(t.Context(), obj, Request{}, render)
	g.Expect(err).To(MatchError(ContainSubstring("Standalone.Source")))
	_, err = s.Reconcile(t.Context(), obj, Request{Owner: manifests.Owner{Kind: "Set"}}, render)
	g.Expect(err).To(MatchError(ContainSubstring("the object is the owner")))
	g.Expect(server.Writes()).To(BeEmpty())

	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	g.Expect(s.Source().Start(t.Context(), queue)).To(Succeed())
	p, err := s.passOver(obj, Request{})
	g.Expect(err).NotTo(HaveOccurred())
	p.Wake()
	woken, _ := queue.Get()
	g.Expect(woken.NamespacedName).To(Equal(types.NamespacedName{Namespace: "shop", Name: "web"}))
}

func TestTheRecordOfANewerVersionIsNotUsed(t *testing.T) {
	g := NewWithT(t)
	server := apiservertest.New(t)
	s, err := standaloneOf(t, server, false, StandaloneOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	owner, err := s.identified(t.Context(), manifests.Owner{Kind: "Set", Namespace: "shop", Name: "web"})
	g.Expect(err).NotTo(HaveOccurred())
	line := metav1alpha1.InventoryEntry{Kind: "ConfigMap", Version: "v1", Namespace: "shop", Name: "a"}.String()
	_, err = s.inventories.Save(t.Context(), owner, records.StoredInventory{}, []string{line + " !xx@v9.1=1"}, 0)
	g.Expect(err).NotTo(HaveOccurred())
	server.Requests()
	for _, pass := range []func() (result.Outcome, error){
		func() (result.Outcome, error) { return s.Apply(t.Context(), Request{Owner: owner}, nil) },
		func() (result.Outcome, error) { return s.Delete(t.Context(), Request{Owner: owner}) },
	} {
		_, err = pass()
		g.Expect(err).To(MatchError(ContainSubstring("v9.1")))
	}
	g.Expect(server.Writes()).To(BeEmpty())
}

func TestAnEngineTellsTheScopeAndTheCluster(t *testing.T) {
	g := NewWithT(t)
	server := apiservertest.New(t)
	e, err := New(t.Context(), name, server.Config(), Options{})
	g.Expect(err).NotTo(HaveOccurred())
	for kind, want := range map[string]manifests.Scope{
		"ConfigMap": manifests.ScopeNamespaced, "Namespace": manifests.ScopeCluster, "Unheard": manifests.ScopeUnknown,
	} {
		scope, err := e.Scope(schema.GroupVersionKind{Version: "v1", Kind: kind})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(scope).To(Equal(want), kind)
	}
	id, err := e.ClusterID(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(id).To(BeEquivalentTo(server.Object("v1", "Namespace", "", "kube-system").GetUID()))
}

func TestTheErrorOfARecoverySaysWhatIsMissing(t *testing.T) {
	g := NewWithT(t)
	e := RecoveredError{
		Secret: types.NamespacedName{Namespace: "shop", Name: "inventory"}, Cause: "it did not exist",
		Dependents: 2,
	}
	g.Expect(e.Error()).
		To(Equal("the inventory in Secret shop/inventory was lost (it did not exist), and was rebuilt from the " +
			"owner labels (dependents: 2); no dependent was changed, and the next pass continues with the rebuilt inventory"))
	e.Copies, e.Unsearched, e.Label = "ConfigMap shop/copy", "not listed, because that is forbidden: nodes", "x/owner-id=1"
	g.Expect(e.Error()).
		To(ContainSubstring("; not counted, because other clients wrote them with the owner label: ConfigMap shop/copy; " +
			"not listed, because that is forbidden: nodes; find missing dependents by the label x/owner-id=1; "))
	g.Expect(errors.As(error(&e), new(*RecoveredError))).To(BeTrue())
}

func TestTheNextPassIsDue(t *testing.T) {
	g := NewWithT(t)
	g.Expect(ResultOf(result.Outcome{})).To(Equal(reconcile.Result{}))
	g.Expect(ResultOf(result.Outcome{NextDue: time.Now().Add(-time.Hour)}).RequeueAfter).To(Equal(time.Millisecond))
	g.Expect(ResultOf(result.Outcome{NextDue: time.Now().Add(time.Hour)}).RequeueAfter).
		To(BeNumerically("~", time.Hour, time.Minute))
}
