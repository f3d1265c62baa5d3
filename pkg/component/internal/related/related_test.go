package related

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources/eventsourcestest"
)

// sharedName is the name of the related object of the components a and b.
const sharedName = "shared"

// relation are related objects with one informer, whose watch events the test sends.
type relation struct {
	*eventsourcestest.Reconciler
	*Objects
	informer *informer
	part     *informerPart
}

func newRelation(t *testing.T, o Options, live ...runtime.Object) *relation {
	t.Helper()
	if o.Of == nil && o.For == nil {
		o.Of = func(client.Object) []client.ObjectKey { return []client.ObjectKey{key(sharedName)} }
	}
	o.New = func() client.Object { return &corev1.ConfigMap{} }
	r := &relation{Reconciler: eventsourcestest.New(t), Objects: New(o)}
	if err := r.Prepare(clientgoscheme.Scheme); err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	home := eventsources.Cluster{
		Key: "home", Dynamic: fake.NewSimpleDynamicClient(clientgoscheme.Scheme, live...), Mapper: mapper,
	}
	r.begin(home)
	convert := r.users.convert
	convert.run = r.Context
	r.informer = newInformer(convert, r.users.port, home, []string{""})
	r.informer.atHome, r.informer.stop = true, func() {}
	r.users.informers["home"] = r.informer
	r.part = r.informer.watch.parts[0]
	return r
}

// begin begins the event source in a cluster, with the namespaces that the operator watches there.
func (r *relation) begin(home eventsources.Cluster, namespaces ...string) {
	host := r.Host()
	host.Home, host.Namespaces = home, namespaces
	r.users.begin(r.Context, host.Port(eventsources.KindRelated, "settings", new(atomic.Int64)))
}

// start starts another informer.
func (r *relation) start(cluster eventsources.Cluster) *informer {
	r.users.mu.Lock()
	defer r.users.mu.Unlock()
	return r.users.start(cluster)
}

// track tracks components, as passes do.
func (r *relation) track(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		r.Track(t.Context(), named(name), nil)
	}
}

// list sends the first list, and opens the watch.
func (r *relation) list(t *testing.T, objects ...*corev1.ConfigMap) {
	t.Helper()
	var items []any
	for _, o := range objects {
		items = append(items, wire(t, o, r.options.Whole))
	}
	if err := r.part.Replace(items, "10"); err != nil {
		t.Fatal(err)
	}
	r.part.opened()
}

func (r *relation) update(t *testing.T, o *corev1.ConfigMap) {
	t.Helper()
	if err := r.part.Update(wire(t, o, r.options.Whole)); err != nil {
		t.Fatal(err)
	}
}

// wire returns an object as a watch delivers it.
func wire(t *testing.T, o *corev1.ConfigMap, whole bool) any {
	t.Helper()
	if !whole {
		return &metav1.PartialObjectMetadata{ObjectMeta: *o.ObjectMeta.DeepCopy()}
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: content}
}

func configMap(name, version, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, ResourceVersion: version, UID: types.UID(name),
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "x" + version}},
		},
		Data: map[string]string{"value": value},
	}
}

func (r *relation) values(t *testing.T, name string) []string {
	t.Helper()
	found, err := r.Get(t.Context(), key(name))
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, obj := range found {
		if c, ok := obj.(*corev1.ConfigMap); ok {
			values = append(values, c.Name+"="+c.Data["value"])
		}
	}
	return values
}

func TestRelatedObjectsWakeTheComponentsWhoseValueDiffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRelation(t, Options{Whole: true})
		r.track(t, "a", "b")
		if !r.State(key("a")).Waits {
			t.Error("a pass does not wait for the first list")
		}
		r.list(t, configMap(sharedName, "1", "x"), configMap("other", "2", "x"))
		r.Expect(t, "a", "b")
		r.update(t, configMap(sharedName, "11", "x"))
		r.Expect(t)
		r.update(t, configMap("other", "12", "y"))
		r.Expect(t)
		r.update(t, configMap(sharedName, "13", "y"))
		r.Expect(t, "a", "b")
		r.update(t, configMap(sharedName, "5", "old"))
		r.Expect(t)
		if got := r.values(t, "a"); !slices.Equal(got, []string{"shared=y"}) {
			t.Errorf("got %v", got)
		}
		if err := r.part.Delete(wire(t, configMap(sharedName, "14", "y"), true)); err != nil {
			t.Error(err)
		}
		r.Expect(t, "a", "b")
		if got := r.values(t, "a"); got != nil {
			t.Errorf("got %v after the deletion", got)
		}
		r.Forget(key("a"))
		r.Forget(key("b"))
		if len(r.users.informers) != 0 || len(r.users.of) != 0 || len(r.informer.objects.versions.index.byObject) != 0 {
			t.Error("something of forgotten components is left")
		}
	})
}

func TestARelistWakesOnlyForDifferences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRelation(t, Options{Whole: true})
		r.track(t, "a")
		r.list(t, configMap(sharedName, "1", "x"))
		r.Expect(t, "a")
		r.list(t, configMap(sharedName, "1", "x"))
		r.Expect(t)
		r.list(t)
		r.Expect(t, "a")
	})
}

func TestAnObjectThatNamesItsComponentsWakesThoseOfBothVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRelation(t, Options{
			Whole: true, Part: func(client.Object) any { return 1 },
			For: func(obj client.Object) []client.ObjectKey {
				return []client.ObjectKey{key(obj.GetLabels()["for"])}
			},
		})
		r.track(t, "a", "b", "c")
		c := configMap("c", "1", "x")
		c.Labels = map[string]string{"for": "a"}
		r.list(t, c)
		r.Expect(t, "a", "b", "c")
		moved := c.DeepCopy()
		moved.Labels["for"], moved.ResourceVersion = "b", "11"
		r.update(t, moved)
		r.Expect(t, "a", "b")
		if a, b := r.values(t, "a"), r.values(t, "b"); a != nil || !slices.Equal(b, []string{"c=x"}) {
			t.Errorf("a has %v, b has %v", a, b)
		}
	})
}

func TestAFilterDecidesAboutUpdatesAndItsPanicWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counts, panics := false, false
		r := newRelation(t, Options{Whole: true, Changed: func(_, _ client.Object) bool {
			if panics {
				panic("a bug")
			}
			return counts
		}})
		r.track(t, "a")
		r.list(t, configMap(sharedName, "1", "x"))
		r.Expect(t, "a")
		r.update(t, configMap(sharedName, "11", "y"))
		r.Expect(t)
		counts = true
		r.update(t, configMap(sharedName, "12", "z"))
		r.Expect(t, "a")
		counts, panics = false, true
		r.update(t, configMap(sharedName, "13", "w"))
		r.Expect(t, "a")
	})
}

func TestBodiesAreDroppedGraduallyAndReadWhenWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live := configMap(sharedName, "1", "x")
		r := newRelation(t, Options{Whole: true, Idle: time.Hour, For: func(client.Object) []client.ObjectKey {
			return []client.ObjectKey{key("a")}
		}}, live)
		r.track(t, "a")
		all := []*corev1.ConfigMap{live}
		for i := range 50 {
			all = append(all, configMap("c"+string(rune('a'+i)), "1", "x"))
		}
		r.list(t, all...)
		kept := func() (n int) {
			for _, o := range r.informer.objects.versions.objects {
				if o.body != nil {
					n++
				}
			}
			return n
		}
		r.evict(time.Now().Add(90 * time.Minute))
		if n := kept(); n == 0 || n == len(all) {
			t.Errorf("%d of %d bodies are kept after one and a half idle times", n, len(all))
		}
		r.evict(time.Now().Add(3 * time.Hour))
		if n := kept(); n != 0 {
			t.Errorf("%d bodies are kept", n)
		}
		obj, err := r.informer.body(t.Context(), key(sharedName))
		if err != nil || obj.GetName() != sharedName || kept() != 1 {
			t.Errorf("read %v, %v; %d bodies are kept", obj, err, kept())
		}
		if in, err := r.Input(t.Context(), key("a")); err != nil || in.Digest == "" || kept() != 1 {
			t.Errorf("the digest needs bodies: %v", err)
		}
	})
}

func TestMetadataOfObjectsCostsOneReadAfterAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRelation(t, Options{}, configMap(sharedName, "1", "x"))
		reads := func() int {
			f, ok := r.informer.reader.cluster.Dynamic.(*fake.FakeDynamicClient)
			if !ok {
				t.Fatal("no fake")
			}
			return len(f.Actions())
		}
		r.track(t, "a")
		r.list(t, configMap(sharedName, "1", "x"))
		for range 3 {
			if got := r.values(t, "a"); !slices.Equal(got, []string{"shared=x"}) {
				t.Errorf("got %v", got)
			}
			in, err := r.Input(t.Context(), key("a"))
			if err != nil || in.Digest == "" {
				t.Error(err)
			}
		}
		if reads() != 1 {
			t.Errorf("%d reads", reads())
		}
		r.Expect(t, "a")
	})
}

func TestOwnWritesWakeOthersAndForeignWritesInBetweenWakeTheWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRelation(t, Options{Whole: true})
		r.track(t, "a", "b")
		r.list(t, configMap(sharedName, "1", "x"))
		r.Expect(t, "a", "b")
		written := configMap(sharedName, "1", "own")
		write := func(answer string, during ...*corev1.ConfigMap) {
			t.Helper()
			err := r.Write(t.Context(), key("a"), written, func(context.Context) error {
				for _, event := range during {
					r.update(t, event)
				}
				written.ResourceVersion = answer
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		t.Log("the event comes after the response")
		write("20")
		r.update(t, configMap(sharedName, "20", "own"))
		r.Expect(t, "b")
		if got := r.values(t, "a"); !slices.Equal(got, []string{"shared=own"}) {
			t.Errorf("got %v", got)
		}
		t.Log("the event comes before the response")
		written.Data["value"] = "second"
		write("21", configMap(sharedName, "21", "second"))
		r.Expect(t, "b")
		t.Log("another client wrote in between")
		written.Data["value"] = "third"
		write("31", configMap(sharedName, "30", "foreign"), configMap(sharedName, "31", "third"))
		r.Expect(t, "a", "b")
		t.Log("the write failed, and another client wrote")
		if err := r.Write(t.Context(), key("a"), written, func(context.Context) error {
			r.update(t, configMap(sharedName, "40", "foreign"))
			return errDown
		}); !errors.Is(err, errDown) {
			t.Errorf("got %v", err)
		}
		r.Expect(t, "a", "b")
		if len(r.informer.objects.versions.writes) != 0 {
			t.Error("a write is left")
		}
	})
}

func TestAFailingWatchIsAFailureUntilItWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRelation(t, Options{Whole: true})
		r.track(t, "a")
		r.part.failed("forbidden", true)
		r.Expect(t, "a")
		if state := r.State(key("a")); state.Waits || state.Failure != "forbidden" || state.Since.IsZero() {
			t.Errorf("state %+v", state)
		}
		if _, err := r.Get(t.Context(), key("a")); err == nil || err.Error() != "forbidden" {
			t.Errorf("got %v", err)
		}
		r.list(t, configMap(sharedName, "1", "x"))
		r.Expect(t, "a")
		r.part.failed("the network is down", false)
		r.Expect(t)
		r.part.failed("forbidden", true)
		r.Expect(t, "a")
		if got := r.values(t, "a"); !slices.Equal(got, []string{"shared=x"}) {
			t.Errorf("known objects are lost: %v", got)
		}
		if state := r.State(key("a")); state.Failure != "forbidden" {
			t.Errorf("state %+v", state)
		}
	})
}

func TestMappersThatPanicAreAFailureOfTheirComponent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRelation(t, Options{Whole: true, Of: func(obj client.Object) []client.ObjectKey {
			if obj.GetName() == "bad" {
				panic("a bug")
			}
			return []client.ObjectKey{key(sharedName)}
		}})
		r.track(t, "a", "bad")
		r.list(t, configMap(sharedName, "1", "x"))
		if got := r.State(key("bad")).Failure; got != "the function panicked: a bug" {
			t.Errorf("failure %q", got)
		}
		if got := r.values(t, "a"); !slices.Equal(got, []string{"shared=x"}) {
			t.Errorf("got %v", got)
		}
		if _, err := r.Input(t.Context(), key("bad")); err == nil {
			t.Error("the input of a component whose mapper panics is no error")
		}
	})
}

func TestAnObjectNamesComponentsThatHaveNoNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRelation(t, Options{Whole: true, For: func(obj client.Object) []client.ObjectKey {
			return []client.ObjectKey{{Namespace: obj.GetNamespace(), Name: obj.GetLabels()["for"]}}
		}})
		for _, name := range []string{"a", "b"} {
			r.Track(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil)
		}
		c := configMap("c", "1", "x")
		c.Labels = map[string]string{"for": "a"}
		r.list(t, c)
		r.Expect(t, "a", "b")
		moved := c.DeepCopy()
		moved.Labels["for"], moved.ResourceVersion = "b", "11"
		r.update(t, moved)
		r.Expect(t, "a", "b")
		found, err := r.Get(t.Context(), types.NamespacedName{Name: "b"})
		if err != nil || len(found) != 1 {
			t.Errorf("got %v, %v", found, err)
		}
		written := moved.DeepCopy()
		if err := r.Write(t.Context(), types.NamespacedName{Name: "b"}, written, func(context.Context) error {
			written.ResourceVersion, written.Labels["for"] = "12", "a"
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		r.Expect(t, "a")
	})
}

func TestAWriteOfMetadataKeepsTheRelationsOfItsObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRelation(t, Options{MetadataOnly: true, For: func(obj client.Object) []client.ObjectKey {
			return []client.ObjectKey{key(obj.GetLabels()["for"])}
		}})
		r.track(t, "a", "b")
		c := configMap(sharedName, "1", "x")
		c.Labels = map[string]string{"for": "a"}
		r.list(t, c)
		r.Expect(t, "a", "b")
		write := func(version, name string) {
			t.Helper()
			written := &metav1.PartialObjectMetadata{ObjectMeta: *c.ObjectMeta.DeepCopy()}
			if err := r.Write(t.Context(), key("a"), written, func(context.Context) error {
				written.ResourceVersion, written.Labels = version, map[string]string{"for": name}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			c.ResourceVersion, c.Labels = version, map[string]string{"for": name}
			r.update(t, c)
		}
		for version, name := range []string{"a", "b"} {
			write(strconv.Itoa(20+version), name)
			if found, err := r.Get(t.Context(), key(name)); err != nil || len(found) != 1 {
				t.Errorf("%s has %v, %v", name, found, err)
			}
		}
		r.Expect(t, "b")
		if found, err := r.Get(t.Context(), key("a")); err != nil || len(found) != 0 {
			t.Errorf("a has %v, %v", found, err)
		}
	})
}

func TestAResponseThatCannotBeStoredIsLeftToTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		panics := false
		r := newRelation(t, Options{Whole: true, For: func(obj client.Object) []client.ObjectKey {
			if panics {
				panic("a bug")
			}
			return []client.ObjectKey{key(obj.GetLabels()["for"])}
		}})
		r.track(t, "a")
		c := configMap(sharedName, "1", "x")
		c.Labels = map[string]string{"for": "a"}
		r.list(t, c)
		r.Expect(t, "a")
		written := c.DeepCopy()
		panics = true
		if err := r.Write(t.Context(), key("a"), written, func(context.Context) error {
			written.ResourceVersion, written.Data = "11", map[string]string{"value": "y"}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if got := r.values(t, "a"); !slices.Equal(got, []string{"shared=x"}) {
			t.Errorf("the object lost its component: %v", got)
		}
		panics = false
		r.update(t, written)
		r.Expect(t, "a")
		if got := r.values(t, "a"); !slices.Equal(got, []string{"shared=y"}) {
			t.Errorf("got %v", got)
		}
	})
}

func TestAResponseWhosePartPanicsIsLeftToTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		panics := false
		r := newRelation(t, Options{MetadataOnly: true, Part: func(obj client.Object) any {
			if panics {
				panic("a bug")
			}
			return obj.GetLabels()
		}})
		r.track(t, "a")
		r.list(t, configMap(sharedName, "1", "x"))
		r.Expect(t, "a")
		written := configMap(sharedName, "1", "x")
		panics = true
		if err := r.Write(t.Context(), key("a"), written, func(context.Context) error {
			written.ResourceVersion, written.Labels = "11", map[string]string{"zone": "one"}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		panics = false
		r.update(t, written)
		r.Expect(t, "a")
	})
}

func TestMappersSeeMetadataOfObjectsThatAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, server := slow(t, Options{For: func(obj client.Object) []client.ObjectKey {
			if c, ok := obj.(*corev1.ConfigMap); !ok || c.Data != nil {
				t.Errorf("a mapper sees %T with a body", obj)
			}
			return []client.ObjectKey{key("a")}
		}})
		server.set(configMap(sharedName, "11", "y"), nil)
		r.readOnce(t, server) // The watch has not shown this version yet.
		written := configMap(sharedName, "11", "z")
		if err := r.Write(t.Context(), key("a"), written, func(context.Context) error {
			written.ResourceVersion = "12"
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if got := r.values(t, "a"); !slices.Equal(got, []string{"shared=z"}) {
			t.Errorf("got %v", got)
		}
	})
}

func TestOneRelatedObjectIsReadByItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRelation(t, Options{Whole: true})
		if _, err := r.GetNamed(t.Context(), key("a"), key(sharedName)); err == nil || apierrors.IsNotFound(err) {
			t.Errorf("before the first list: %v", err)
		}
		r.track(t, "a")
		r.list(t, configMap(sharedName, "1", "x"), configMap("other", "2", "x"))
		found, err := r.GetNamed(t.Context(), key("a"), key(sharedName))
		if err != nil || found.GetName() != sharedName {
			t.Fatalf("got %v, %v", found, err)
		}
		found.SetName("changed")
		if again, err := r.GetNamed(t.Context(), key("a"), key(sharedName)); err != nil || again.GetName() != sharedName {
			t.Errorf("the caller changed the object in memory: %v, %v", again, err)
		}
		for _, name := range []string{"other", "none"} {
			if _, err := r.GetNamed(t.Context(), key("a"), key(name)); !apierrors.IsNotFound(err) {
				t.Errorf("%s is not related: %v", name, err)
			}
		}
	})
}

func TestOneObjectIsReadByItsNameWithEachKindOfRelation(t *testing.T) {
	forA := func(obj client.Object) []client.ObjectKey { return []client.ObjectKey{key(obj.GetLabels()["for"])} }
	nothing := func(client.Object) []client.ObjectKey { return nil }
	for _, c := range []struct {
		name    string
		options Options
		related bool
	}{
		{"the object names the component", Options{For: forA}, true},
		{"each component is related to all objects", Options{All: true, Of: nothing}, true},
		{"the component names other objects", Options{Of: nothing}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.options.Whole = true
				r := newRelation(t, c.options, configMap("none", "1", "x"))
				r.track(t, "a")
				named := configMap("c", "1", "x")
				named.Labels = map[string]string{"for": "a"}
				r.list(t, named)
				found, err := r.GetNamed(t.Context(), key("a"), key("c"))
				if c.related && (err != nil || found.GetName() != "c") || !c.related && !apierrors.IsNotFound(err) {
					t.Errorf("got %v, %v", found, err)
				}
				if _, err := r.GetNamed(t.Context(), key("a"), key("none")); !apierrors.IsNotFound(err) {
					t.Errorf("an object that the watch does not show: %v", err)
				}
			})
		})
	}
}

func TestAnInformerWatchesWhatBothSelectorsSelect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRelation(t, Options{Whole: true, Selector: "published=yes", Fields: "metadata.name=shared"})
		fakes, ok := r.informer.reader.cluster.Dynamic.(*fake.FakeDynamicClient)
		if !ok {
			t.Fatal("no fake")
		}
		started := r.start(r.informer.reader.cluster)
		synctest.Wait()
		started.stop()
		synctest.Wait()
		opened := 0
		for _, action := range fakes.Actions() {
			watching, ok := action.(clienttesting.WatchAction)
			if !ok {
				continue
			}
			opened++
			restrictions := watching.GetWatchRestrictions()
			if restrictions.Fields.String() != "metadata.name=shared" || restrictions.Labels.String() != "published=yes" {
				t.Errorf("the watch has the selectors %+v", restrictions)
			}
		}
		if opened == 0 {
			t.Error("no watch was opened")
		}
	})
}
