package rendering

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apiservertest"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records/secretstest"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const reconciler = "parts.example.com"

var owner = manifests.Owner{
	Cluster: "here", Reconciler: reconciler, Group: "example.com", Kind: "Part", Namespace: "shop", Name: "web",
}

// part is a component with few fields.
type part struct {
	corev1.ConfigMap
	status metav1alpha1.Status
}

func (p *part) GetStatus() *metav1alpha1.Status { return &p.status }

// scene is a component, its generator, and a Renderer with fake API servers.
type scene struct {
	t *testing.T
	*apiservertest.Server
	secrets   *secretstest.Server
	store     *records.Store
	clock     *clocktesting.FakePassiveClock
	renderer  *Renderer
	options   Options
	component *part
	request   Request
	// generate is the generator, and calls is the number of its calls.
	generate generator.GeneratorFunc
	calls    int
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{
		t: t, Server: apiservertest.New(t), secrets: secretstest.New(), component: &part{},
		clock: clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
	}
	connection, err := target.Connect(t.Context(), s.Config(), target.Options{Reconciler: reconciler})
	if err != nil {
		t.Fatal(err)
	}
	s.store = records.NewStore(records.Options{
		Reconciler: reconciler, Dynamic: s.secrets.Dynamic(), Metadata: s.secrets.Metadata(), Clock: s.clock,
		NamespaceGoes: func(context.Context, string) bool { return false },
		VerifyCluster: func(context.Context, types.NamespacedName) error { return nil },
	})
	s.component.Namespace, s.component.Name, s.component.UID = "shop", "web", "u"
	s.request = Request{
		Component: s.component, Status: &s.component.status, Owner: owner, Records: &records.State{},
		Target: target.Target{Client: connection.Own(), Local: connection.Own()},
		Inputs: input.Inputs{Declaration: input.Declaration{Namespace: "shop", Name: "web"}, Digest: "inputs"},
	}
	s.generate = func(context.Context, generator.Request) ([]client.Object, error) {
		return []client.Object{settings("a", "1")}, nil
	}
	s.options = Options{
		Reconciler: reconciler, Scheme: clientgoscheme.Scheme, Records: s.store, Clock: s.clock, CacheBytes: 1 << 20,
		Wake: func(types.NamespacedName) {},
		Generator: generator.GeneratorFunc(func(ctx context.Context, req generator.Request) ([]client.Object, error) {
			s.calls++
			return s.generate(ctx, req)
		}),
	}
	s.restart()
	return s
}

// restart simulates a restart of the process: it replaces the Renderer and the memory of records.
func (s *scene) restart() {
	s.renderer = New(s.options)
	s.request.Records = &records.State{}
}

// render calls Renderer.Render, and returns the set and the number of calls of the generator.
func (s *scene) render() (set Set, calls int, err error) {
	s.t.Helper()
	before := s.calls
	set, err = s.renderer.Render(s.t.Context(), s.request)
	return set, s.calls - before, err
}

// apply renders, and stores the set as a pass does. It returns the value of the ConfigMap a, and the number of calls
// of the generator.
func (s *scene) apply() (value string, calls int) {
	s.t.Helper()
	set, calls, err := s.render()
	if err != nil {
		s.t.Fatal(err)
	}
	status := &s.component.status
	if status.InputDigest != s.request.Inputs.Digest {
		status.InputDigest = s.request.Inputs.Digest
		status.Revision++
	}
	if status.Lookups, status.LookupsDigest, err = set.Lookups.Lines(); err != nil {
		s.t.Fatal(err)
	}
	if set.ID != "" && set.ID != status.RenderedSet {
		s.record(set)
	}
	status.RenderedSet = set.ID
	s.request.Inventory = nil
	for _, o := range set.Desired() {
		s.request.Inventory = append(s.request.Inventory, metav1alpha1.InventoryEntry{
			Version: "v1", Kind: o.Key.Kind, Namespace: o.Key.Namespace, Name: o.Key.Name, Digest: o.Digest,
		})
	}
	return s.valueOf(set), calls
}

// record writes the record of a pinned rendering.
func (s *scene) record(set Set) {
	s.t.Helper()
	bodies, err := set.Manifests.All()
	if err != nil {
		s.t.Fatal(err)
	}
	parts, err := records.Encode(records.Rendering, bodies)
	if err != nil {
		s.t.Fatal(err)
	}
	record := records.Record{
		Kind: records.Rendering, ID: set.ID, Note: set.Note, ValuesLost: set.ValuesLost,
		Origin: records.OriginOf(&s.component.status), Proof: set.Proof,
	}
	if err := s.store.Write(s.t.Context(), owner, record, parts); err != nil {
		s.t.Fatal(err)
	}
	s.request.Records.SetID(records.Rendering, set.ID)
}

// valueOf returns the value in the ConfigMap a of a set.
func (s *scene) valueOf(set Set) string {
	s.t.Helper()
	for _, o := range set.Objects {
		if o.Key.Name != "a" {
			continue
		}
		whole, err := o.Whole()
		if err != nil {
			s.t.Fatal(err)
		}
		data, _ := whole.Body.Object["data"].(map[string]any)
		return fmt.Sprint(data["value"])
	}
	return ""
}

// put stores an object that a generator can look up.
func (s *scene) put(value string) {
	s.Put("v1", "ConfigMap", "shop", "looked-up", map[string]any{"data": map[string]any{"value": value}})
}

// lookUp returns the value of the object that put stores, and an error if the object does not exist.
func lookUp(ctx context.Context, l generator.Lookup) (string, error) {
	found, err := l.Get(ctx, corev1.SchemeGroupVersion.WithKind("ConfigMap"), "shop", "looked-up")
	if err != nil {
		return "", err
	}
	data, _ := found.Object["data"].(map[string]any)
	return fmt.Sprint(data["value"]), nil
}

// settings returns a ConfigMap with one value.
func settings(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"value": value}}
}

// expect checks the reason and the message of a condition error, and whether it is terminal.
func expect(t *testing.T, err error, reason string, terminal bool, message string) {
	t.Helper()
	failure := passerror.Of(err)
	if failure == nil || failure.Reason != reason || failure.Terminal != terminal ||
		!strings.Contains(failure.Message, message) {
		t.Errorf("got %v, want %s, terminal %t: %s", failure, reason, terminal, message)
	}
}

// eventually waits until holds returns true.
func (s *scene) eventually(holds func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatal("the awaited state was not reached in time")
		}
	}
}

// overloaded returns an error with status 429 for requests for ConfigMaps.
func overloaded(r apiservertest.Request) error {
	if strings.Contains(r.Path, "/configmaps") {
		return apierrors.NewTooManyRequests("later", 1)
	}
	return nil
}

// slowFetcher returns a source when the channel release is closed.
type slowFetcher struct {
	release chan struct{}
	calls   atomic.Int32
}

// Fetch implements input.Fetcher.
func (f *slowFetcher) Fetch(ctx context.Context, _ metav1alpha1.SourceReference) (fs.FS, error) {
	f.calls.Add(1)
	select {
	case <-f.release:
		return fstest.MapFS{"a.yaml": &fstest.MapFile{Data: []byte("content")}}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Fetched implements input.Fetcher.
func (f *slowFetcher) Fetched(context.Context, metav1alpha1.SourceReference) (fs.FS, bool) {
	return nil, false
}
