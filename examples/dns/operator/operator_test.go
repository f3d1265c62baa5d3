package operator_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/examples/dns/dnstest"
	"github.com/fairlead-io/fairlead/examples/dns/operator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// serviceVariable is the environment variable that makes this test program an operator.
const serviceVariable = "TEST_DNS_SERVICE"

func TestMain(m *testing.M) {
	url := os.Getenv(serviceVariable)
	if url == "" {
		os.Exit(m.Run())
	}
	log.SetLogger(zap.New())
	manager, err := operator.NewManager(ctrl.GetConfigOrDie(), operator.Options{ServiceURL: url})
	if err == nil {
		err = manager.Start(ctrl.SetupSignalHandler())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// world is a cluster with the CRD, and a DNS service. The tests share them; each test has hosts of its own.
type world struct {
	cluster *testcluster.Cluster
	client  client.Client
	server  *dnstest.Server
	url     string
}

func TestOperator(t *testing.T) {
	w := newWorld(t)
	stop := w.run(t)
	for name, test := range map[string]func(*testing.T, *world){
		"a site gets its records, and their ids in a ConfigMap":    testReady,
		"a record that somebody changes or deletes is repaired":    testDrift,
		"a changed spec changes, adds and deletes records":         testChange,
		"a record is created once although the answer is lost":     testLostAnswer,
		"an overload and a stale list delay a site, and no more":   testTrouble,
		"a record of somebody else with the same name stays":       testForeign,
		"the deletion of a site deletes its records and no others": testDelete,
	} {
		t.Run(name, func(t *testing.T) { test(t, w) })
	}
	stop()
	t.Run("a site has the same records whatever goes wrong with requests and calls", func(t *testing.T) {
		testFaults(t,
			w)
	})
	t.Run("a record is created once although the operator is killed during the call", func(t *testing.T) {
		testCrash(t,
			w)
	})
}

func newWorld(t *testing.T) *world {
	t.Helper()
	log.SetLogger(zap.New(zap.WriteTo(t.Output())))
	w := &world{cluster: testcluster.StartFor(t, testcluster.Options{}), server: dnstest.New(dnstest.Options{})}
	api := httptest.NewServer(w.server)
	t.Cleanup(api.Close)
	w.url = api.URL
	scheme := runtime.NewScheme()
	g := NewWithT(t)
	g.Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	g.Expect(operator.AddToScheme(scheme)).To(Succeed())
	var err error
	w.client, err = client.New(w.cluster.Config(), client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	files, err := filepath.Glob("../config/*.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	for _, file := range files {
		text, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		objects, err := manifests.Decode(file, text)
		g.Expect(err).NotTo(HaveOccurred())
		for _, object := range objects {
			g.Expect(w.client.Create(t.Context(), object)).To(Succeed())
			g.Eventually(func() string {
				if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
					return err.Error()
				}
				return fmt.Sprint(object.Object["status"])
			}, time.Minute).Should(ContainSubstring("status:True type:Established"))
		}
	}
	g.Eventually(func() error {
		return w.client.List(t.Context(), &operator.SiteList{})
	}, time.Minute).Should(Succeed())
	return w
}

// run runs the operator until stop is called. stop returns when the operator has ended.
func (w *world) run(t *testing.T) (stop func()) {
	t.Helper()
	manager, err := operator.NewManager(w.cluster.Config(), operator.Options{
		ServiceURL: w.url, Poll: 200 * time.Millisecond, SkipNameValidation: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the operator ended: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// site creates a namespace with the name, the Secret and a Site.
func (w *world) site(t *testing.T, name string, hosts ...string) *operator.Site {
	t.Helper()
	g := NewWithT(t)
	metadata := metav1.ObjectMeta{Namespace: name, Name: "dns-api"}
	site := &operator.Site{
		ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "shop"},
		Spec:       operator.SiteSpec{Hosts: hosts, Address: "192.0.2.7", TTL: 300, SecretName: "dns-api"},
	}
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
		&corev1.Secret{ObjectMeta: metadata, StringData: map[string]string{"token": "secret"}},
		site,
	} {
		g.Expect(w.client.Create(t.Context(), object)).To(Succeed())
	}
	return site
}

// ready waits until the site is Ready for its current spec.
func (w *world) ready(t *testing.T, site *operator.Site) {
	t.Helper()
	NewWithT(t).Eventually(func() string { return w.state(t, site) }, time.Minute).Should(HavePrefix("True"))
}

// absent is the state of a site that does not exist any more.
const absent = "absent"

// state returns the condition Ready of the site for its current spec.
func (w *world) state(t *testing.T, site *operator.Site) string {
	t.Helper()
	err := w.client.Get(t.Context(), client.ObjectKeyFromObject(site), site)
	if apierrors.IsNotFound(err) {
		return absent
	}
	if err != nil {
		return err.Error()
	}
	c := meta.FindStatusCondition(site.Status.Conditions, metav1alpha1.ConditionReady)
	if c == nil || c.ObservedGeneration != site.Generation {
		return "not yet"
	}
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}

// change updates the spec of the site.
func (w *world) change(t *testing.T, site *operator.Site, edit func(*operator.SiteSpec)) {
	t.Helper()
	NewWithT(t).Eventually(func() error {
		if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(site), site); err != nil {
			return err
		}
		edit(&site.Spec)
		return w.client.Update(t.Context(), site)
	}, time.Minute).Should(Succeed())
}

// records returns the records of a host.
func (w *world) records(host string) []dnstest.Record {
	var found []dnstest.Record
	for _, record := range w.server.Records() {
		if record.Name == host {
			found = append(found, record)
		}
	}
	return found
}

// one returns the only record of a host.
func (w *world) one(t *testing.T, host string) dnstest.Record {
	t.Helper()
	records := w.records(host)
	if len(records) != 1 {
		t.Fatalf("%s has the records %v, want one", host, records)
	}
	if created := w.server.Created(records[0].Tag); created != 1 {
		t.Fatalf("%d records of %s were created, want one", created, host)
	}
	return records[0]
}

func testReady(t *testing.T, w *world) {
	site := w.site(t, "ready", "www.ready.example.com", "api.ready.example.com")
	w.ready(t, site)
	g := NewWithT(t)
	ids := &corev1.ConfigMap{}
	g.Expect(w.client.Get(t.Context(), client.ObjectKey{Namespace: "ready", Name: "shop-records"}, ids)).To(Succeed())
	for _, host := range site.Spec.Hosts {
		record := w.one(t, host)
		g.Expect(record.Value).To(Equal("192.0.2.7"))
		g.Expect(record.Tag).To(HaveLen(40))
		g.Expect(ids.Data).To(HaveKeyWithValue(host, record.ID))
	}
}

func testDrift(t *testing.T, w *world) {
	host := "www.drift.example.com"
	w.ready(t, w.site(t, "drift", host))
	g := NewWithT(t)
	record := w.one(t, host)
	record.Value = "198.51.100.1"
	w.server.Put(record)
	g.Eventually(func() string { return w.one(t, host).Value }, time.Minute).Should(Equal("192.0.2.7"))

	w.server.Remove(record.ID)
	g.Eventually(func() []dnstest.Record { return w.records(host) }, time.Minute).Should(HaveLen(1))
	g.Expect(w.records(host)[0].ID).NotTo(Equal(record.ID))
}

func testChange(t *testing.T, w *world) {
	kept, removed, added := "kept.change.example.com", "removed.change.example.com", "added.change.example.com"
	site := w.site(t, "change", kept, removed)
	w.ready(t, site)
	before := w.one(t, kept)
	w.change(t, site, func(spec *operator.SiteSpec) {
		spec.Hosts, spec.Address = []string{kept, added}, "192.0.2.8"
	})
	w.ready(t, site)
	g := NewWithT(t)
	for _, host := range site.Spec.Hosts {
		g.Expect(w.one(t, host).Value).To(Equal("192.0.2.8"))
	}
	g.Expect(w.one(t, kept).ID).To(Equal(before.ID))
	g.Eventually(func() []dnstest.Record { return w.records(removed) }, time.Minute).Should(BeEmpty())
}

func testLostAnswer(t *testing.T, w *world) {
	w.server.Inject(dnstest.Create, dnstest.Fault{LoseAnswer: true})
	host := "www.lost.example.com"
	w.ready(t, w.site(t, "lost", host))
	w.one(t, host)
}

func testTrouble(t *testing.T, w *world) {
	w.server.Inject(dnstest.Create, dnstest.Fault{RateLimit: time.Second}, dnstest.Fault{RateLimit: time.Second})
	host := "www.trouble.example.com"
	w.ready(t, w.site(t, "trouble", host))
	id := w.one(t, host).ID
	calls := w.server.Calls(dnstest.List) + w.server.Calls(dnstest.Get)
	for range 5 {
		w.server.Inject(dnstest.List, dnstest.Fault{Forget: true}, dnstest.Fault{Stale: 8})
	}
	g := NewWithT(t)
	g.Eventually(func() int { return w.server.Calls(dnstest.List) + w.server.Calls(dnstest.Get) }, time.Minute).
		Should(BeNumerically(">", calls+20))
	g.Expect(w.one(t, host).ID).To(Equal(id))
}

func testForeign(t *testing.T, w *world) {
	host := "www.foreign.example.com"
	foreign := w.server.Put(dnstest.Record{Name: host, Type: "TXT", Value: "of somebody else", Tag: "foreign"})
	site := w.site(t, "foreign", host)
	w.ready(t, site)
	g := NewWithT(t)
	g.Expect(w.records(host)).To(HaveLen(2))
	g.Expect(w.client.Delete(t.Context(), site)).To(Succeed())
	w.awaitDeletion(t, site)
	left := w.records(host)
	g.Expect(left).To(HaveLen(1))
	g.Expect(left[0].ID).To(Equal(foreign))
}

// awaitDeletion waits until the site does not exist any more.
func (w *world) awaitDeletion(t *testing.T, site *operator.Site) {
	t.Helper()
	NewWithT(t).Eventually(func() string { return w.state(t, site) }, time.Minute).Should(Equal(absent))
}

func testDelete(t *testing.T, w *world) {
	site := w.site(t, "delete", "www.delete.example.com", "api.delete.example.com")
	other := w.site(t, "delete-other", "www.other.example.com")
	w.ready(t, site)
	w.ready(t, other)
	g := NewWithT(t)
	w.server.Inject(dnstest.Delete, dnstest.Fault{LoseAnswer: true}, dnstest.Fault{Status: 500})
	g.Expect(w.client.Delete(t.Context(), site)).To(Succeed())
	w.awaitDeletion(t, site)
	for _, host := range []string{"www.delete.example.com", "api.delete.example.com"} {
		g.Expect(w.records(host)).To(BeEmpty())
	}
	w.one(t, "www.other.example.com")
	g.Eventually(func() []string {
		secrets := &corev1.SecretList{}
		g.Expect(w.client.List(t.Context(), secrets, client.InNamespace("delete"))).To(Succeed())
		var left []string
		for _, secret := range secrets.Items {
			left = append(left, secret.Name+strings.Join(secret.Finalizers, " "))
		}
		return left
	}, time.Minute).Should(ConsistOf("dns-api"), "no record is left, and no finalizer on the credentials")
}

// testCrash kills the operator while the service works on a create. The service creates the record when the operator no
// longer runs, so nobody gets the answer. Another operator must find the record.
func testCrash(t *testing.T, w *world) {
	host := "www.crash.example.com"
	release := make(chan struct{})
	w.server.Inject(dnstest.Create, dnstest.Fault{Until: release})
	creates := w.server.Calls(dnstest.Create)
	kill := w.process(t)
	site := w.site(t, "crash", host)
	g := NewWithT(t)
	g.Eventually(func() int { return w.server.Calls(dnstest.Create) }, time.Minute).Should(BeNumerically(">", creates))
	kill()
	g.Expect(w.records(host)).To(BeEmpty())
	close(release)
	g.Eventually(func() []dnstest.Record { return w.records(host) }, time.Minute).Should(HaveLen(1))

	w.run(t)
	w.ready(t, site)
	w.one(t, host)
}

// process runs the operator as a process of its own: this test program, see TestMain. kill kills it.
func (w *world) process(t *testing.T) (kill func()) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program)
	command.Env = append(os.Environ(), serviceVariable+"="+w.url, "KUBECONFIG="+w.cluster.Kubeconfig())
	command.Stdout, command.Stderr = t.Output(), t.Output()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = command.Process.Kill()
		_ = command.Wait() // It was killed.
	})
	t.Cleanup(kill)
	return kill
}
