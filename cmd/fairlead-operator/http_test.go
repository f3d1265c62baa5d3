package main

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing/fstest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/source"
)

// archives is a server that returns an archive with a status code.
type archives struct {
	*httptest.Server
	mu       sync.Mutex
	archive  []byte
	answer   int
	requests int
}

func serveArchives() *archives {
	GinkgoHelper()
	a := &archives{answer: http.StatusOK}
	a.Server = httptest.NewServer(a)
	DeferCleanup(a.Close)
	return a
}

func (a *archives) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests++
	w.WriteHeader(a.answer)
	_, _ = w.Write(a.archive)
}

// has sets the archive and the status code, and returns the number of requests since the last call.
func (a *archives) has(archive []byte, answer int) (requests int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	requests, a.requests = a.requests, 0
	a.archive, a.answer = archive, answer
	return requests
}

func (a *archives) asked() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests
}

// packed returns an archive with unique content, and a source that refers to the archive.
func packed(server *archives, title string) ([]byte, v1alpha1.Source) {
	GinkgoHelper()
	archive, err := source.Pack(fstest.MapFS{"app/a.yaml": &fstest.MapFile{Data: []byte("# " + title + ", " + server.URL +
		"\n" + settings)}})
	Expect(err).NotTo(HaveOccurred())
	sum := sha256.Sum256(archive)
	return archive, v1alpha1.Source{HTTP: &v1alpha1.HTTPSource{
		URL:    server.URL + "/app.tgz",
		SHA256: hex.EncodeToString(sum[:]),
	}}
}

var _ = Describe("An archive outside the cluster", func() {
	var (
		namespace string
		server    *archives
	)
	BeforeEach(func(ctx SpecContext) {
		namespace, server = newNamespace(ctx), serveArchives()
	})
	create := func(ctx SpecContext, from v1alpha1.Source) *v1alpha1.Component {
		return createComponent(ctx, namespace, "shop", v1alpha1.ComponentSpec{
			Source: from, Path: "app", Values: &runtime.RawExtension{Raw: []byte(`{"level":"one"}`)},
			ResyncSpec: metav1alpha1.ResyncSpec{Interval: &metav1.Duration{}},
			RetrySpec:  metav1alpha1.RetrySpec{RetryDuration: &metav1.Duration{Duration: time.Second}},
		})
	}
	revision := func(ctx SpecContext, component *v1alpha1.Component) int64 {
		Expect(administrator.Get(ctx, client.ObjectKeyFromObject(component), component)).To(Succeed())
		return component.Status.Revision
	}

	It("is fetched only once for a digest", func(ctx SpecContext) {
		archive, from := packed(server, "First")
		server.has(archive, http.StatusOK)
		component := create(ctx, from)
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		Expect(level(ctx, namespace)()).To(Equal("one"))

		change(ctx, component, func(s *v1alpha1.ComponentSpec) { s.Values.Raw = []byte(`{"level":"two"}`) })
		Eventually(level(ctx, namespace)).WithTimeout(soon).Should(Equal("two"))
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		change(ctx, component, func(s *v1alpha1.ComponentSpec) { s.Source.HTTP.URL += "?mirror=2" })
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		Expect(revision(ctx, component)).To(Equal(int64(2)), "a URL with the same digest must not make a new revision")
		Expect(server.asked()).To(Equal(1))

		next, other := packed(server, "Next")
		server.has(next, http.StatusOK)
		change(ctx, component, func(s *v1alpha1.ComponentSpec) { s.Source = other })
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		Expect(revision(ctx, component)).To(Equal(int64(3)))
	}, SpecTimeout(time.Minute))

	It("with a packed chart needs no path to the folder of the chart", func(ctx SpecContext) {
		archive, err := source.Pack(fstest.MapFS{
			"app/Chart.yaml":            &fstest.MapFile{Data: []byte("{apiVersion: v2, name: app, version: 1.0.0}")},
			"app/templates/config.yaml": &fstest.MapFile{Data: []byte(settings)},
		})
		Expect(err).NotTo(HaveOccurred())
		server.has(archive, http.StatusOK)
		sum := sha256.Sum256(archive)
		component := createComponent(ctx, namespace, "shop", v1alpha1.ComponentSpec{
			Source: v1alpha1.Source{HTTP: &v1alpha1.HTTPSource{
				URL:    server.URL + "/app-1.0.0.tgz",
				SHA256: hex.EncodeToString(sum[:]),
			}},
			Values: &runtime.RawExtension{Raw: []byte(`{"level":"one"}`)},
		})
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		Expect(level(ctx, namespace)()).To(Equal("one"))
	}, SpecTimeout(time.Minute))

	It("that cannot be fetched leaves the dependents unchanged, and is fetched again later", func(ctx SpecContext) {
		archive, from := packed(server, "First")
		server.has(nil, http.StatusNotFound)
		component := create(ctx, from)
		Eventually(status(ctx, component)).WithTimeout(soon).Should(Equal(
			"Stalled FetchFailed: fetch the source: " + server.URL +
				"/app.tgz: the server answered 404 Not Found; check the URL"))
		server.has(nil, http.StatusServiceUnavailable)
		Eventually(status(ctx, component)).WithTimeout(soon).Should(Equal(
			"Progressing Retrying: fetch the source: " + server.URL + "/app.tgz: the server answered 503 Service Unavailable"))
		server.has(archive, http.StatusOK)
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))

		_, other := packed(server, "Next")
		change(ctx, component, func(s *v1alpha1.ComponentSpec) { s.Source = other })
		Eventually(status(ctx, component)).WithTimeout(soon).Should(And(
			HavePrefix("Stalled FetchFailed: "), ContainSubstring(from.HTTP.SHA256), ContainSubstring(other.HTTP.SHA256)))
		Expect(level(ctx, namespace)()).To(Equal("one"))
	}, SpecTimeout(time.Minute))

	It("is not fetched from an address that is refused by default", func(ctx SpecContext) {
		// The flags of the specs allow addresses of IPv4 only.
		listener, err := net.Listen("tcp", "[::1]:0")
		if err != nil {
			Skip("the host has no IPv6: " + err.Error())
		}
		archive, from := packed(server, "First")
		server.has(archive, http.StatusOK)
		refused := httptest.NewUnstartedServer(server)
		Expect(refused.Listener.Close()).To(Succeed())
		refused.Listener = listener
		refused.Start()
		DeferCleanup(refused.Close)
		from.HTTP.URL = refused.URL + "/app.tgz"
		component := create(ctx, from)
		Eventually(status(ctx, component)).WithTimeout(soon).Should(Equal(
			"Stalled FetchFailed: fetch the source: " + from.HTTP.URL + ": the address of host ::1 is refused (loopback): " +
				"use another host, or ask the administrator to allow the address"))
		Expect(server.asked()).To(BeZero())
	}, SpecTimeout(time.Minute))

	It("whose server is slow blocks neither other components nor the deletion of its component", func(ctx SpecContext) {
		hung := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
		DeferCleanup(func() {
			hung.CloseClientConnections()
			hung.Close()
		})
		_, from := packed(server, "First")
		from.HTTP.URL = hung.URL
		slow := create(ctx, from)
		Eventually(status(ctx, slow)).WithTimeout(soon).
			Should(Equal("Progressing Fetching: the source is being fetched from " + hung.URL))
		quick := createComponent(ctx, namespace, "quick", v1alpha1.ComponentSpec{
			Source: inline("a.yaml", settings), Values: &runtime.RawExtension{Raw: []byte(`{"level":"one"}`)},
		})
		Eventually(status(ctx, quick)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		Expect(administrator.Delete(ctx, slow)).To(Succeed())
		Eventually(func() error { return administrator.Get(ctx, client.ObjectKeyFromObject(slow), slow) }).WithTimeout(soon).
			ShouldNot(Succeed())
	}, SpecTimeout(time.Minute))

	It("is fetched again after a restart, without a write to the component", func(ctx SpecContext) {
		archive, from := packed(server, "First")
		server.has(archive, http.StatusOK)
		component := create(ctx, from)
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		Expect(administrator.Get(ctx, client.ObjectKeyFromObject(component), component)).To(Succeed())
		version := component.ResourceVersion
		Expect(server.has(archive, http.StatusOK)).To(Equal(1))

		Expect(stopOperator()).To(Succeed())
		stopOperator = startOperator()
		Eventually(server.asked).WithTimeout(soon).Should(Equal(1))
		next := createComponent(ctx, newNamespace(ctx), "next", v1alpha1.ComponentSpec{
			Source: inline("a.yaml", settings), Values: &runtime.RawExtension{Raw: []byte(`{"level":"one"}`)},
		})
		Eventually(status(ctx, next)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		Expect(administrator.Get(ctx, client.ObjectKeyFromObject(component), component)).To(Succeed())
		Expect(component.ResourceVersion).To(Equal(version))
	}, SpecTimeout(time.Minute))
})
