package observe

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	metadatafake "k8s.io/client-go/metadata/fake"
	kubetesting "k8s.io/client-go/testing"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// newMapper returns a mapper that serves Widgets in the versions v1 and v2, and ConfigMaps.
func newMapper(scope meta.RESTScope) *meta.DefaultRESTMapper {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Group: widgets.Group, Version: "v1"}, {Version: "v1"}})
	mapper.Add(widgets.WithVersion("v1"), scope)
	mapper.Add(widgets.WithVersion("v2"), scope)
	mapper.Add(configMaps.WithVersion("v1"), meta.RESTScopeNamespace)
	return mapper
}

func TestMappingPrefersTheGivenVersion(t *testing.T) {
	s := listWatches{mapper: newMapper(meta.RESTScopeNamespace)}
	for version, want := range map[string]string{"v2": "v2", "v3": "v1", "": "v1"} {
		m, err := s.mapping(widgets, version)
		must(t, err)
		if got := m.GroupVersionKind.Version; got != want {
			t.Errorf("preferred version %q: the watch uses %s, want %s", version, got, want)
		}
	}
}

func TestANamespaceOfAClusterScopedTypeIsNotServed(t *testing.T) {
	s := listWatches{mapper: newMapper(meta.RESTScopeRoot)}
	_, err := s.listWatch(Reader{}, WatchedResource{widgets, "shop"}, "v1", "", true)
	if !meta.IsNoMatchError(err) {
		t.Errorf("a version that is not served must return a NoMatch error, got %v", err)
	}
}

func TestFailuresAreClassified(t *testing.T) {
	resource := schema.GroupResource{Resource: "widgets"}
	for _, c := range []struct {
		name string
		err  error
		want plan.WaitReason
		// definite is false for failures after which known objects remain known.
		definite bool
	}{
		{"no match", &meta.NoKindMatchError{GroupKind: widgets}, plan.WaitNotServed, true},
		{"not found", apierrors.NewNotFound(resource, ""), plan.WaitNotServed, true},
		{"no list", apierrors.NewMethodNotSupported(resource, "list"), plan.WaitNotListable, true},
		{"bad credentials", apierrors.NewUnauthorized("expired"), plan.WaitUnauthorized, true},
		{"forbidden", apierrors.NewForbidden(resource, "", nil), plan.WaitUnwatched, true},
		{"no answer", errors.New("connection refused"), plan.WaitListFailed, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := (reflectorLoop{}).classify(c.err); got.reason != c.want || got.definite != c.definite {
				t.Errorf("the failure of the watch is classified as %+v", got)
			}
		})
	}
}

// newMetadata returns a metadata client of a fake API server that contains the given ConfigMaps.
func newMetadata(t *testing.T, objects ...runtime.Object) *metadatafake.FakeMetadataClient {
	t.Helper()
	scheme := metadatafake.NewTestScheme()
	must(t, metav1.AddMetaToScheme(scheme))
	for _, o := range objects {
		o.GetObjectKind().SetGroupVersionKind(configMaps.WithVersion("v1"))
	}
	client := metadatafake.NewSimpleMetadataClient(scheme, objects...)
	client.PrependWatchReactor("*", func(action kubetesting.Action) (bool, watch.Interface, error) {
		// The fake client cannot stream the initial list. After this error, the reflector uses a list and a watch instead.
		w, ok := action.(kubetesting.WatchActionImpl)
		streams := ok && w.ListOptions.SendInitialEvents != nil
		return streams, nil, apierrors.NewBadRequest("no initial events")
	})
	return client
}

func receive(t *testing.T, enqueued <-chan struct{}) {
	t.Helper()
	select {
	case <-enqueued:
	case <-time.After(10 * time.Second):
		t.Fatal("no component was enqueued within 10 seconds")
	}
}

func TestWatchListsDependentsByOwnerLabel(t *testing.T) {
	client := newMetadata(t, at("5", "us", "u1"))
	o := New(t.Context(), Options{
		Reconciler: reconciler, Metadata: client, Mapper: newMapper(meta.RESTScopeNamespace), PerNamespace: true,
	})
	enqueued := make(chan struct{}, 10)
	resources := map[WatchedResource]string{o.ResourceOf(settings): "v1"}
	o.Watch("us", Reader{}, resources, func() { enqueued <- struct{}{} })
	for !o.Synced("us") {
		receive(t, enqueued)
	}
	if live := o.Live(Reader{}, settings); live.Presence != plan.Present || live.Owner != "us" {
		t.Errorf("the listed object has the presence %s and the owner %q", live.Presence, live.Owner)
	}
	for _, action := range client.Actions() {
		if list, ok := action.(kubetesting.ListAction); ok {
			selector := list.GetListRestrictions().Labels.String()
			if action.GetNamespace() != "shop" || selector != reconciler+"/"+manifests.LabelOwnerID {
				t.Errorf("the watch listed with the selector %q in namespace %q, want the owner label in namespace shop", selector,
					action.GetNamespace())
			}
		}
	}
}

func TestWatchInstancesListsAllNamespaces(t *testing.T) {
	client := newMetadata(t, at("5", "them", "u1"))
	o := New(t.Context(), Options{
		Reconciler: reconciler, Metadata: client, Mapper: newMapper(meta.RESTScopeNamespace), PerNamespace: true,
	})
	enqueued := make(chan struct{}, 10)
	o.Watch("us", Reader{}, nil, func() { enqueued <- struct{}{} })
	o.WatchInstances("us", []schema.GroupKind{configMaps})
	for !o.Synced("us") {
		receive(t, enqueued)
	}
	if found, _, _ := o.Instances(Reader{}, configMaps); len(found) != 1 || found[0].Key != settings {
		t.Errorf("the watch has the instances %v, want the ConfigMap settings", found)
	}
}

func TestReferencesAreListedAsTheReader(t *testing.T) {
	client := newMetadata(t, at("5", "", "u1"))
	r := NewReferences(t.Context(), nil, reconciler)
	enqueued := make(chan struct{}, 10)
	reader := Reader{Name: "alice", Metadata: client}
	ref := Reference{
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Namespace: "shop", Name: "settings",
	}
	r.Watch("app", reader, []Reference{ref}, func() { enqueued <- struct{}{} })
	receive(t, enqueued)
	if version, known, failure := r.Version(reader, ref); version != "5" || !known || failure != (Failure{}) {
		t.Errorf("the reference has the version %q, known %t, and the failure %v; want version 5", version, known, failure)
	}
}

// ended is a handler of labelled objects that reports the refusal of the watch.
type ended struct {
	handler
	forbidden chan string
}

func (e *ended) Forbidden(message string) { e.forbidden <- message }

func TestWatchLabelledEndsWhenItIsForbidden(t *testing.T) {
	client := newMetadata(t)
	resource := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	client.PrependReactor("list", "*", func(kubetesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(resource.GroupResource(), "", nil)
	})
	e := &ended{forbidden: make(chan string, 10)}
	WatchLabelled(t.Context(), client, resource, "shop", "held", e)
	select {
	case <-e.forbidden:
	case <-time.After(10 * time.Second):
		t.Fatal("the forbidden watch was not reported within 10 s")
	}
}

func TestWatchDefinitionsReportsTheFirstList(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	changed := make(chan struct{}, 10)
	WatchDefinitions(ctx, newMetadata(t), func() { changed <- struct{}{} }, func() {})
	receive(t, changed)
}

func TestBodyIsReturnedInTheKnownVersionOnly(t *testing.T) {
	o := newObserver(t)
	o.withBodies[configMaps] = true
	w := addWatch(o, Reader{}, WatchedResource{Type: configMaps}, func() {})
	if o.Body(Reader{}, settings) != nil {
		t.Error("Body returned a manifest for an object that does not exist")
	}
	body := asUnstructured(t, at("5", "us", "u1"))
	must(t, w.Add(body))
	got := o.Body(Reader{}, settings)
	if got == nil || got.GetResourceVersion() != "5" || got == body {
		t.Errorf("Body did not return a copy of the object: %v", got)
	}
	o.BeginWrite(settings)(answer("6"))
	if o.Body(Reader{}, settings) != nil {
		t.Error("Body returned an object of an earlier version than the last write")
	}
	must(t, w.Add(asUnstructured(t, at("6", "us", "u1"))))
	if o.Body(Reader{}, settings) == nil {
		t.Error("Body returned nothing, although the watch event of the last write arrived")
	}
	done := o.BeginWrite(settings)
	response := asUnstructured(t, at("7", "us", "u1"))
	o.Received(settings, response)
	if o.Body(Reader{}, settings).GetResourceVersion() != "6" {
		t.Error("Body returned an object whose write has not ended")
	}
	done(answer("7"))
	if got := o.Body(Reader{}, settings); got == nil || got.GetResourceVersion() != "7" || got == response {
		t.Errorf("Body did not return a copy of the response to the last write: %v", got)
	}
	done = o.BeginWrite(settings)
	o.Received(settings, asUnstructured(t, at("8", "us", "u1")))
	done(answer("9"))
	if o.Body(Reader{}, settings) != nil {
		t.Error("Body returned the response to an earlier request of the last write")
	}
	must(t, w.Add(asUnstructured(t, at("9", "us", "u1"))))
	w.setReason(plan.WaitUnwatched, "refused")
	if o.Body(Reader{}, settings) != nil {
		t.Error("Body returned an object although the watch was refused")
	}
}
