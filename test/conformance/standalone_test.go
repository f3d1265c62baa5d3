package conformance_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/engine"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// standalone is a process of an operator whose author calls engine.Standalone, and the gadget that it serves.
type standalone struct {
	*engine.Standalone
	engine    *engine.Engine
	name      string
	namespace string
	gadget    *gadget.Gadget
	// before is called once, before the first write of the next pass, as Pass.Before.
	before func()
}

// standaloneOptions configure a process. wrap wraps the transport of its requests, and user is its identity.
type standaloneOptions struct {
	wrap    func(http.RoundTripper) http.RoundTripper
	user    *rest.Config
	target  *rest.Config
	cluster string
}

func newStandalone(name string, o standaloneOptions) *standalone {
	GinkgoHelper()
	home := cluster.Config()
	if o.user != nil {
		home = rest.CopyConfig(o.user)
	}
	home.UserAgent = userAgent(name)
	if o.wrap != nil {
		home.Wrap(o.wrap)
	}
	config, options := home, engine.StandaloneOptions{ClusterID: o.cluster}
	if o.target != nil {
		config, options.Home = o.target, home
	}
	lifetime, stop := context.WithCancel(context.Background())
	DeferCleanup(stop)
	e, err := engine.New(lifetime, name, config, engine.Options{RemoteTarget: o.target != nil})
	Expect(err).NotTo(HaveOccurred())
	options.Client, err = client.New(home, client.Options{Scheme: k8s.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	s, err := engine.NewStandalone(lifetime, e, options)
	Expect(err).NotTo(HaveOccurred())
	return &standalone{Standalone: s, engine: e, name: name}
}

// serving creates a gadget for a process.
func (s *standalone) serving(ctx context.Context) *standalone {
	GinkgoHelper()
	s.namespace = newNamespace(ctx)
	s.gadget = newGadget(ctx, s.namespace, "app", "", servedBy(s.name))
	return s
}

// another returns another process for the same gadget.
func (s *standalone) another(o standaloneOptions) *standalone {
	GinkgoHelper()
	other := newStandalone(s.name, o)
	other.namespace, other.gadget = s.namespace, s.gadget
	return other
}

// pass makes one pass over the gadget.
func (s *standalone) pass(ctx context.Context, text string) (result.Outcome, error) {
	obj := &gadget.Gadget{}
	if err := k8s.Get(ctx, client.ObjectKeyFromObject(s.gadget), obj); err != nil {
		return result.Outcome{}, err
	}
	p := engine.Request{Wake: func() {}, Before: func(context.Context) error {
		if before := s.before; before != nil {
			s.before = nil
			before()
		}
		return nil
	}}
	return s.Reconcile(ctx, obj, p, func(context.Context) ([]*unstructured.Unstructured, error) {
		return manifests.Decode("set", []byte(text))
	})
}

// apply makes passes until nothing is left to do.
func (s *standalone) apply(ctx context.Context, text string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		outcome, err := s.pass(ctx, text)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(outcome.Done()).To(BeTrue(), "%v", outcome.Waiting)
	}).Should(Succeed())
}

// fails makes passes until one returns an error, which it returns. A pass without an error must not write.
func (s *standalone) fails(ctx context.Context, text string) error {
	GinkgoHelper()
	var failed error
	Eventually(ctx, func(g Gomega) {
		var outcome result.Outcome
		outcome, failed = s.pass(ctx, text)
		g.Expect(outcome.Changes).To(BeEmpty())
		g.Expect(failed).To(HaveOccurred())
	}).Should(Succeed())
	return failed
}

// finish deletes the gadget and makes passes until the gadget no longer exists.
func (s *standalone) finish(ctx context.Context) {
	GinkgoHelper()
	Expect(client.IgnoreNotFound(k8s.Delete(ctx, s.gadget))).To(Succeed())
	Eventually(ctx, func() error {
		_, err := s.pass(ctx, "")
		return err
	}).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
}

func (s *standalone) owner() manifests.Owner {
	return manifests.Owner{Group: "gadgets.example.com", Kind: "Gadget", Namespace: s.namespace, Name: "app"}
}

// secret returns the Secret with the inventory, nil if there is none.
func (s *standalone) secret(ctx context.Context) *corev1.Secret {
	GinkgoHelper()
	list := &corev1.SecretList{}
	Expect(k8s.List(ctx, list, client.InNamespace(s.namespace))).To(Succeed())
	for i := range list.Items {
		if strings.HasPrefix(list.Items[i].Name, "inventory-") {
			return &list.Items[i]
		}
	}
	return nil
}

// lose deletes the Secret with the inventory by force.
func (s *standalone) lose(ctx context.Context) {
	GinkgoHelper()
	secret := s.secret(ctx)
	Expect(secret).NotTo(BeNil())
	patch(ctx, secret, `{"metadata":{"finalizers":null}}`)
	remove(ctx, secret)
	expectNotFound(ctx, secret)
}

// tells returns the writes of a process since a position in the audit log.
func (s *standalone) tells(ctx context.Context, since auditMark) []string {
	GinkgoHelper()
	return verbs(inNamespace(requestsSince(ctx, since, s.name), s.namespace).Writes())
}

// compressed returns the data of a record with a text.
func compressed(text string) string {
	GinkgoHelper()
	var buffer bytes.Buffer
	writer := gzip.NewWriter(&buffer)
	_, err := writer.Write([]byte(text))
	Expect(errors.Join(err, writer.Close())).To(Succeed())
	return base64.StdEncoding.EncodeToString(buffer.Bytes())
}

func expectRecovered(err error) *engine.RecoveredError {
	GinkgoHelper()
	recovered, ok := errors.AsType[*engine.RecoveredError](err)
	Expect(ok).To(BeTrue(), "%v", err)
	return recovered
}

var _ = Describe("engine.Standalone:", func() {
	two := configMaps("cm", 2, "a")
	one := configMaps("cm", 1, "a")
	exists := func(ctx context.Context, s *standalone, names ...string) {
		GinkgoHelper()
		Expect(countConfigMaps(ctx, s.namespace)).To(Equal(len(names)))
		for _, name := range names {
			Expect(configMapExists(ctx, s.namespace, name)).To(BeTrue(), name)
		}
	}

	It("writes the finalizer first, then the record, and then the dependents", func(ctx SpecContext) {
		s := newStandalone(newOperatorName(), standaloneOptions{})
		s.serving(ctx).apply(ctx, one) // From now on the type is watched, so that the pass below is the only one.
		s.serving(ctx).apply(ctx, two)
		Expect(s.tells(ctx, 0)).To(Equal([]string{
			"patch gadgets 200", "create secrets 201", "create configmaps 201", "create configmaps 201", "update secrets 200",
		}))
		Expect(current(ctx, s.gadget).Finalizers).To(ConsistOf(s.name + "/finalizer"))
	})

	It("makes a pass over an unchanged set with one request and no write", func(ctx SpecContext) {
		s := newStandalone(newOperatorName(), standaloneOptions{}).serving(ctx)
		s.apply(ctx, two)
		mark := markAudit(ctx)
		s.apply(ctx, two)
		Expect(verbs(requestsSince(ctx, mark, s.name))).To(Equal([]string{"get secrets 200"}))
	})

	It("updates, creates and prunes when the set changes, also in another process", func(ctx SpecContext) {
		s := newStandalone(newOperatorName(), standaloneOptions{}).serving(ctx)
		s.apply(ctx, two)
		s.another(standaloneOptions{}).apply(ctx, together(configMap("cm-0", "b"), configMap("new", "a")))
		exists(ctx, s, "cm-0", "new")
		Expect(mustGet(ctx, "v1", "ConfigMap", s.namespace, "cm-0").Object["data"]).To(HaveKeyWithValue("value", "b"))
	})

	It("records an empty set too, so that no later pass searches for dependents", func(ctx SpecContext) {
		s := newStandalone(newOperatorName(), standaloneOptions{}).serving(ctx)
		s.apply(ctx, "")
		Expect(s.secret(ctx)).NotTo(BeNil())
		mark := markAudit(ctx)
		s.apply(ctx, "")
		Expect(auditEvents(ctx)[mark:].UserAgent(userAgent(s.name)).Verb("list")).To(BeEmpty())
	})

	DescribeTable("continues after a crash", func(ctx SpecContext, counted string) {
		s := newStandalone(newOperatorName(), standaloneOptions{}).serving(ctx)
		c := &crash{counts: func(r *http.Request) bool {
			return r.Method != http.MethodGet && strings.Contains(r.URL.Path, counted)
		}}
		crashed := s.another(standaloneOptions{wrap: c.wrap})
		Eventually(ctx, func() bool {
			_, _ = crashed.pass(ctx, two) // The pass fails, or reports the failure of the dependents.
			return c.crashed.Load()
		}).Should(BeTrue())
		exists(ctx, s)
		// The set has become smaller meanwhile, so what the crashed process created must be recorded.
		s.apply(ctx, configMap("other", "a"))
		exists(ctx, s, "other")
		s.finish(ctx)
		exists(ctx, s)
		Expect(s.secret(ctx)).To(BeNil())
	},
		Entry("before the finalizer", "/gadgets"),
		Entry("between the finalizer and the record", "/secrets"),
		Entry("between the record and the first write", "/configmaps"),
	)

	It("deletes what a process created that crashed before it recorded the result", func(ctx SpecContext) {
		s := newStandalone(newOperatorName(), standaloneOptions{}).serving(ctx)
		var created atomic.Bool
		c := &crash{counts: func(r *http.Request) bool {
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/configmaps") {
				created.Store(true)
			}
			return created.Load() && r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/secrets")
		}}
		crashed := s.another(standaloneOptions{wrap: c.wrap})
		Eventually(ctx, func() error { _, err := crashed.pass(ctx, two); return err }).Should(HaveOccurred())
		exists(ctx, s, "cm-0", "cm-1")
		s.finish(ctx)
		exists(ctx, s)
	})

	It("rebuilds a deleted record from the owner labels, and reports that before it "+
		"changes anything", func(ctx SpecContext) {
		s := newStandalone(newOperatorName(), standaloneOptions{}).serving(ctx)
		s.apply(ctx, two)
		s.lose(ctx)
		mark := markAudit(ctx)
		recovered := expectRecovered(s.fails(ctx, one))
		Expect(recovered.Dependents).To(Equal(2))
		Expect(recovered.Unsearched).To(BeEmpty())
		Expect(recovered).To(MatchError(And(ContainSubstring(s.secret(ctx).Name), ContainSubstring("it did not exist"))))
		Expect(s.tells(ctx, mark)).To(Equal([]string{"create secrets 201"}))
		s.apply(ctx, one)
		exists(ctx, s, "cm-0")
	})

	It("rebuilds an edited record, and does not delete what a forged record names", func(ctx SpecContext) {
		s := newStandalone(newOperatorName(), standaloneOptions{}).serving(ctx)
		s.apply(ctx, two)
		create(ctx, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs, namespace: "+s.namespace+"}")
		patch(ctx, s.secret(ctx), `{"data":{"inventory.json.gz":"`+compressed(`["`+metav1alpha1.InventoryEntry{
			Version: "v1", Kind: "ConfigMap", Namespace: s.namespace, Name: "theirs",
		}.String()+`"]`)+`"}}`)
		Expect(expectRecovered(s.fails(ctx, one))).To(MatchError(ContainSubstring("another client edited it")))
		s.apply(ctx, one)
		exists(ctx, s, "cm-0", "theirs")
	})

	It("keeps the record while its Secret is being deleted", func(ctx SpecContext) {
		s := newStandalone(newOperatorName(), standaloneOptions{}).serving(ctx)
		s.apply(ctx, two)
		remove(ctx, s.secret(ctx))
		s.apply(ctx, configMap("cm-0", "b"))
		exists(ctx, s, "cm-0")
		s.finish(ctx)
		exists(ctx, s)
		Expect(s.secret(ctx)).To(BeNil())
	})

	It("does not touch a Secret of somebody else with the name of the record, and writes "+
		"no dependent", func(ctx SpecContext) {
		s := newStandalone(newOperatorName(), standaloneOptions{}).serving(ctx)
		id, err := s.engine.ClusterID(ctx)
		Expect(err).NotTo(HaveOccurred())
		owner := s.owner()
		owner.Cluster, owner.Reconciler = id, s.name
		theirs := create(ctx,
			fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: inventory-%s-engine-0, namespace: %s}\n"+
				"stringData: {password: x}",
				owner.ID(), s.namespace))[0]
		Expect(s.fails(ctx, two)).To(MatchError(And(ContainSubstring("another client created Secret"),
			ContainSubstring(theirs.GetName()))))
		exists(ctx, s)
		Expect(mustGet(ctx, "v1", "Secret", s.namespace, theirs.GetName()).GetResourceVersion()).
			To(Equal(theirs.GetResourceVersion()))
		remove(ctx, theirs)
		s.apply(ctx, two)
		exists(ctx, s, "cm-0", "cm-1")
	})

	DescribeTable("of two processes at once, one gets a conflict before it writes, and nothing is lost",
		func(ctx SpecContext, begin func(ctx SpecContext, s *standalone), second string) {
			s := newStandalone(newOperatorName(), standaloneOptions{}).serving(ctx)
			begin(ctx, s)
			other := s.another(standaloneOptions{})
			other.before = func() { s.apply(ctx, configMap("first", "a")) }
			mark := markAudit(ctx)
			failed := other.fails(ctx, second)
			Expect(apierrors.IsConflict(failed)).To(BeTrue(), "%v", failed)
			exists(ctx, s, "first")
			Expect(succeeded(inNamespace(requestsSince(ctx, mark, s.name), s.namespace).Writes()).Resource("configmaps").Where(
				func(e testcluster.Event) bool { return e.Name != "first" && e.Verb != "delete" })).To(BeEmpty())
			other.apply(ctx, configMap("second", "a"))
			exists(ctx, s, "second")
		},
		Entry("in the first pass", func(SpecContext, *standalone) {}, configMap("second", "a")),
		Entry("in a later pass", func(ctx SpecContext, s *standalone) { s.apply(ctx, two) }, configMap("second", "a")),
		Entry("in a pass that creates a recorded object again", func(ctx SpecContext, s *standalone) {
			s.apply(ctx, one)
			remove(ctx, mustGet(ctx, "v1", "ConfigMap", s.namespace, "cm-0"))
		}, one),
	)

	It("deletes the dependents before the finalizer, without a rendering", func(ctx SpecContext) {
		s := newStandalone(newOperatorName(), standaloneOptions{}).serving(ctx)
		s.apply(ctx, two)
		mark := markAudit(ctx)
		s.finish(ctx)
		Expect(s.tells(ctx, mark)).To(Equal([]string{
			"delete configmaps 200", "delete configmaps 200", "patch secrets 200", "delete secrets 200", "patch gadgets 200",
		}))
		exists(ctx, s)
		Expect(s.secret(ctx)).To(BeNil())
	})

	It("keeps the finalizer until the last dependent no longer exists", func(ctx SpecContext) {
		s := newStandalone(newOperatorName(), standaloneOptions{}).serving(ctx)
		s.apply(ctx, two)
		held := mustGet(ctx, "v1", "ConfigMap", s.namespace, "cm-1")
		patch(ctx, held, `{"metadata":{"finalizers":["example.com/held"]}}`)
		remove(ctx, s.gadget)
		Eventually(ctx, func() bool {
			_, err := s.pass(ctx, "")
			Expect(err).NotTo(HaveOccurred())
			return configMapExists(ctx, s.namespace, "cm-0")
		}).Should(BeFalse())
		outcome, err := s.pass(ctx, "")
		Expect(err).NotTo(HaveOccurred())
		Expect(outcome.Waiting).To(ConsistOf(HaveField("Dependent", HaveSuffix("/cm-1"))))
		Expect(current(ctx, s.gadget).Finalizers).To(ConsistOf(s.name + "/finalizer"))
		Expect(s.secret(ctx)).NotTo(BeNil())
		patch(ctx, held, `{"metadata":{"finalizers":null}}`)
		s.finish(ctx)
		exists(ctx, s)
	})

	It("leaves the dependents alone while the object has a finalizer of another controller", func(ctx SpecContext) {
		s := newStandalone(newOperatorName(), standaloneOptions{}).serving(ctx)
		s.apply(ctx, two)
		patch(ctx, s.gadget, fmt.Sprintf(`{"metadata":{"finalizers":[%q,"example.com/theirs"]}}`, s.name+"/finalizer"))
		remove(ctx, s.gadget)
		outcome, err := s.pass(ctx, "")
		Expect(err).NotTo(HaveOccurred())
		Expect(outcome.Done()).To(BeFalse())
		Expect(outcome.Waiting).To(ConsistOf(HaveField("Message", ContainSubstring("example.com/theirs"))))
		exists(ctx, s, "cm-0", "cm-1")
		patch(ctx, s.gadget, fmt.Sprintf(`{"metadata":{"finalizers":[%q]}}`, s.name+"/finalizer"))
		s.finish(ctx)
		exists(ctx, s)
	})

	It("deletes dependents whose record was lost", func(ctx SpecContext) {
		s := newStandalone(newOperatorName(), standaloneOptions{}).serving(ctx)
		s.apply(ctx, two)
		s.lose(ctx)
		remove(ctx, s.gadget)
		Expect(expectRecovered(s.fails(ctx, "")).Dependents).To(Equal(2))
		s.finish(ctx)
		exists(ctx, s)
	})

	It("forgets an object that was deleted without its finalizer, and leaves its dependents", func(ctx SpecContext) {
		s := newStandalone(newOperatorName(), standaloneOptions{}).serving(ctx)
		s.apply(ctx, two)
		Expect(s.Forget(ctx, s.owner())).To(Succeed())
		Expect(s.secret(ctx)).NotTo(BeNil(), "an object that exists is not forgotten")
		patch(ctx, s.gadget, `{"metadata":{"finalizers":null}}`)
		remove(ctx, s.gadget)
		expectNotFound(ctx, s.gadget)
		Expect(s.Forget(ctx, s.owner())).To(Succeed())
		Expect(s.secret(ctx)).To(BeNil())
		exists(ctx, s, "cm-0", "cm-1")
		Expect(s.Forget(ctx, s.owner())).To(Succeed())
	})

	It("goes on with the record of an object that was deleted without its finalizer and "+
		"created again", func(ctx SpecContext) {
		s := newStandalone(newOperatorName(), standaloneOptions{}).serving(ctx)
		s.apply(ctx, two)
		patch(ctx, s.gadget, `{"metadata":{"finalizers":null}}`)
		remove(ctx, s.gadget)
		expectNotFound(ctx, s.gadget)
		s.gadget = newGadget(ctx, s.namespace, "app", "", servedBy(s.name))
		s.apply(ctx, one)
		exists(ctx, s, "cm-0")
	})

	It("names an object whose type nobody serves, and applies and deletes the others", func(ctx SpecContext) {
		s := newStandalone(newOperatorName(), standaloneOptions{}).serving(ctx)
		set := together(configMap("plain", "x"), "apiVersion: none.example.com/v1\nkind: Thing\nmetadata: {name: thing}")
		Eventually(ctx, func() ([]result.Waiting, error) {
			outcome, err := s.pass(ctx, set)
			return outcome.Waiting, err
		}).Should(ConsistOf(And(HaveField("Dependent", HaveSuffix("thing")), HaveField("Undefined", BeTrue()))))
		exists(ctx, s, "plain")
		s.finish(ctx)
		exists(ctx, s)
	})

	DescribeTable("identifies owners by a cluster id", func(ctx SpecContext, given string) {
		s := newStandalone(newOperatorName(), standaloneOptions{cluster: given}).serving(ctx)
		s.apply(ctx, one)
		want := given
		if given == "" {
			want = string(mustGet(ctx, "v1", "Namespace", "", "kube-system").GetUID())
			id, err := s.engine.ClusterID(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(id).To(Equal(want))
		}
		Expect(mustGet(ctx, "v1", "ConfigMap", s.namespace, "cm-0").GetAnnotations()).To(
			HaveKeyWithValue(s.name+"/"+manifests.AnnotationOwnerID, HavePrefix(want+"/"+s.name+"/")))
		asked := requestsSince(ctx, 0, s.name).Where(func(e testcluster.Event) bool { return e.Name == "kube-system" })
		Expect(asked).To(HaveLen(map[bool]int{true: 1 + 1, false: 0}[given == ""]),
			"one request of the passes, and one of ClusterID")
	},
		Entry("that is the UID of kube-system", ""),
		Entry("that is given", "production"),
	)

	It("stores the record in the cluster of the owner if the dependents are in another cluster", func(ctx SpecContext) {
		remote := testcluster.StartFor(GinkgoTB(), testcluster.Options{NoControllers: true})
		there, err := client.New(remote.Config(), client.Options{Scheme: k8s.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		s := newStandalone(newOperatorName(), standaloneOptions{target: remote.Config()}).serving(ctx)
		Expect(there.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}})).To(Succeed())
		s.apply(ctx, two)
		exists(ctx, s)
		list := &corev1.ConfigMapList{}
		Expect(there.List(ctx, list, client.InNamespace(s.namespace))).To(Succeed())
		Expect(list.Items).To(HaveLen(2))
		Expect(s.secret(ctx)).NotTo(BeNil())
		s.lose(ctx)
		Expect(expectRecovered(s.fails(ctx, one)).Dependents).To(Equal(2))
		s.finish(ctx)
		Expect(there.List(ctx, list, client.InNamespace(s.namespace))).To(Succeed())
		Expect(list.Items).To(BeEmpty())
	})

	It("takes over the dependents of an engine whose caller stored the inventory", func(ctx SpecContext) {
		s := newStandalone(newOperatorName(), standaloneOptions{}).serving(ctx)
		id, err := s.engine.ClusterID(ctx)
		Expect(err).NotTo(HaveOccurred())
		owner := s.owner()
		owner.Cluster, owner.Reconciler = id, s.name
		decoded, err := manifests.Decode("set", []byte(two))
		Expect(err).NotTo(HaveOccurred())
		desired, err := normalise.Manifests(decoded, normalise.Options{
			Reconciler: s.name, Namespace: s.namespace, Owner: owner, ScopeOf: s.engine.Scope,
		})
		Expect(err).NotTo(HaveOccurred())
		var stored []metav1alpha1.InventoryEntry
		Eventually(ctx, func() (bool, error) {
			outcome, err := s.engine.Apply(ctx, engine.Request{
				Owner: owner, Desired: desired, Inventory: stored, Now: metav1.Now().Time, Wake: func() {},
				WriteInventory: func(_ context.Context, entries []metav1alpha1.InventoryEntry) error {
					stored = entries
					return nil
				},
			})
			return outcome.Done(), err
		}).Should(BeTrue())
		patch(ctx, s.gadget, fmt.Sprintf(`{"metadata":{"finalizers":[%q]}}`, s.name+"/finalizer"))
		mark := markAudit(ctx)
		Expect(expectRecovered(s.fails(ctx, two)).Dependents).To(Equal(2))
		s.apply(ctx, two)
		Expect(inNamespace(requestsSince(ctx, mark, s.name), s.namespace).Writes().Resource("configmaps")).To(BeEmpty())
		s.apply(ctx, one)
		exists(ctx, s, "cm-0")
	})

	It("applies and deletes sets of owners without an object", func(ctx SpecContext) {
		s := newStandalone(newOperatorName(), standaloneOptions{})
		s.namespace = newNamespace(ctx)
		p := engine.Request{Owner: manifests.Owner{Kind: "Set", Namespace: s.namespace, Name: "one"}}
		apply := func(text string) {
			GinkgoHelper()
			decoded, err := manifests.Decode("set", []byte(text))
			Expect(err).NotTo(HaveOccurred())
			Eventually(ctx, func() (bool, error) {
				outcome, err := s.Apply(ctx, p, decoded)
				return outcome.Done(), err
			}).Should(BeTrue())
		}
		apply(two)
		apply(one)
		exists(ctx, s, "cm-0")
		s.lose(ctx)
		_, err := s.Apply(ctx, p, nil)
		Expect(expectRecovered(err).Dependents).To(Equal(1), "a lost record is not an empty one")
		Eventually(ctx, func() (bool, error) {
			outcome, err := s.Delete(ctx, p)
			return outcome.Done(), err
		}).Should(BeTrue())
		exists(ctx, s)
		Expect(s.secret(ctx)).To(BeNil())
		outcome, err := s.Delete(ctx, p)
		Expect(err).NotTo(HaveOccurred())
		Expect(outcome.Done()).To(BeTrue())
		Expect(s.secret(ctx)).To(BeNil())
	})

	It("names the types that it may not search for the dependents of a lost record, once", func(ctx SpecContext) {
		operator := newOperatorName()
		user, err := cluster.User(ctx, operator)
		Expect(err).NotTo(HaveOccurred())
		grantEverywhere(ctx, operator, operator, "namespaces: get, list, watch", "configmaps: '*'",
			"secrets: get, create, update, patch, delete")
		s := newStandalone(operator, standaloneOptions{user: user.Config}).serving(ctx)
		s.apply(ctx, two)
		s.lose(ctx)
		recovered := expectRecovered(s.fails(ctx, one))
		Expect(recovered.Dependents).To(Equal(2))
		Expect(recovered).To(MatchError(And(ContainSubstring("not listed, because that is forbidden"),
			ContainSubstring("nodes"),
			ContainSubstring(operator+"/owner-id="))))
		s.apply(ctx, one)
		exists(ctx, s, "cm-0")
	})

	It("ends the deletion of a namespace with a lost record, although not all types may be searched", func(ctx SpecContext) {
		operator := newOperatorName()
		user, err := cluster.User(ctx, operator)
		Expect(err).NotTo(HaveOccurred())
		grantEverywhere(ctx, operator, operator, "namespaces: get, list, watch", "configmaps: '*'",
			"secrets: get, create, update, patch, delete")
		s := newStandalone(operator, standaloneOptions{user: user.Config}).serving(ctx)
		s.apply(ctx, two)
		s.lose(ctx)
		Expect(k8s.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}})).To(Succeed())
		s.finish(ctx)
	})

	It("changes nothing for an outdated copy of an object that was deleted, or created again", func(ctx SpecContext) {
		s := newStandalone(newOperatorName(), standaloneOptions{}).serving(ctx)
		s.apply(ctx, two)
		copied := func() *gadget.Gadget {
			GinkgoHelper()
			obj := &gadget.Gadget{}
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(s.gadget), obj)).To(Succeed())
			return obj
		}
		refused := func(obj *gadget.Gadget) {
			GinkgoHelper()
			other := s.another(standaloneOptions{})
			Eventually(ctx, func() error {
				_, err := other.Reconcile(ctx, obj, engine.Request{Wake: func() {}},
					func(context.Context) ([]*unstructured.Unstructured, error) {
						return manifests.Decode("set", []byte(two))
					})
				return err
			}).Should(MatchError(ContainSubstring("was deleted or changed since it was read")))
		}
		before := copied()
		Expect(k8s.Delete(ctx, s.gadget)).To(Succeed())
		deleting := copied()
		s.finish(ctx)
		refused(before)
		exists(ctx, s)
		Expect(s.secret(ctx)).To(BeNil())

		s.gadget = newGadget(ctx, s.namespace, "app", "", servedBy(s.name))
		s.apply(ctx, two)
		refused(deleting)
		exists(ctx, s, "cm-0", "cm-1")
	})
})
