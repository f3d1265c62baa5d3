package lookup

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apiservertest"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

var (
	configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")
	missing    = apierrors.NewNotFound(corev1.Resource("configmaps"), "settings")
)

func TestEachObjectIsReadOnce(t *testing.T) {
	c := newClusters(t)
	c.put("settings", "1")
	r := NewAskedObjects(c.target)
	target, local := r.Lookup(false, false), r.Lookup(true, false)
	c.gets()
	for range 2 {
		got, err := target.Get(t.Context(), configMap, "shop", "settings")
		if err != nil {
			t.Fatal(err)
		}
		if value, _, _ := unstructured.NestedString(got.Object, "data", "value"); value != "1" {
			t.Errorf("the looked-up ConfigMap has the value %v, want 1", value)
		}
		// A generator may change the objects that it gets.
		got.Object["data"] = nil
	}
	if got := c.gets(); got != 1 {
		t.Errorf("two equal look-ups sent %d requests, want 1", got)
	}
	if _, err := local.Get(t.Context(), configMap, "shop", "settings"); err != nil || c.gets() != 1 {
		t.Errorf("a look-up in the cluster of the component uses the result from the target: %v", err)
	}
	results, err := r.Results(us)
	if err != nil || len(results) != 2 || results[0].key.local == results[1].key.local {
		t.Errorf("the results must contain a look-up in each of the two clusters, got %+v and the error %v", results, err)
	}
}

func TestAbsentObjectsAndTypesAreKept(t *testing.T) {
	c := newClusters(t)
	r := NewAskedObjects(c.target)
	l := r.Lookup(false, false)
	if _, err := l.Get(t.Context(), configMap, "shop", "settings"); !apierrors.IsNotFound(err) {
		t.Errorf("the look-up of a missing object returned %v, want a NotFound error", err)
	}
	if _, err := l.List(t.Context(), gadget, ""); !meta.IsNoMatchError(err) {
		t.Errorf("the look-up of a type that is not served returned %v, want a NoMatch error", err)
	}
	results, err := r.Results(us)
	if err != nil || len(results) != 2 {
		t.Fatalf("want the results of two look-ups, got %+v and the error %v", results, err)
	}
	if results[0].state != metav1alpha1.LookupMissing || results[1].state != metav1alpha1.LookupUnserved {
		t.Errorf("the results have the states %s and %s, want Missing and Unserved", results[0].state, results[1].state)
	}
	if _, served := results[1].reference(); served {
		t.Error("a looked-up type that is not served is reported as watched")
	}
}

func TestFailuresAreNotKept(t *testing.T) {
	c := newClusters(t)
	c.put("settings", "1")
	refused := true
	c.Refuse(func(r apiservertest.Request) error {
		if refused && strings.HasSuffix(r.Path, "/settings") {
			return apierrors.NewForbidden(corev1.Resource("configmaps"), "settings", errors.New("no role"))
		}
		return nil
	})
	r := NewAskedObjects(c.target)
	if _, err := r.Lookup(false, false).Get(t.Context(), configMap, "shop", "settings"); !apierrors.IsForbidden(err) {
		t.Fatalf("the refused look-up returned %v, want a Forbidden error", err)
	}
	if results, _ := r.Results(us); len(results) != 0 {
		t.Error("a failed look-up is recorded in the status")
	}
	refused = false
	if _, err := r.Lookup(false, false).Get(t.Context(), configMap, "shop", "settings"); err != nil {
		t.Errorf("the second look-up after a failure does not read again: %v", err)
	}
}

func TestTheNamespaceOfAClusterScopedTypeIsIgnored(t *testing.T) {
	c := newClusters(t)
	r := NewAskedObjects(c.target)
	for _, in := range []string{"", "other"} {
		if _, err := r.Lookup(false, false).Get(t.Context(), namespace, in, "shop"); err != nil {
			t.Fatal(err)
		}
	}
	results, err := r.Results(us)
	if err != nil || len(results) != 1 || results[0].key.namespace != "" {
		t.Errorf("want one result without a namespace, got %+v and the error %v", results, err)
	}
}

func TestAStatusCanBeWithheldFromARendering(t *testing.T) {
	c := newClusters(t)
	c.put("plain", "1")
	c.Put("example.com/v1", "Widget", "shop", "w", map[string]any{"status": map[string]any{"ready": true}})
	r := NewAskedObjects(c.target)
	if _, err := r.Lookup(false, false).Get(t.Context(), configMap, "shop", "plain"); err != nil || r.HasStatus() {
		t.Errorf("HasStatus is true although no looked-up object has a status: %v", err)
	}
	list, err := r.Lookup(false, true).List(t.Context(), widget, "shop")
	if err != nil || len(list.Items) != 1 || list.Items[0].Object["status"] != nil {
		t.Errorf("the looked-up list must have one object without a status, got %+v and the error %v", list, err)
	}
	if !r.HasStatus() {
		t.Error("HasStatus is false although an object of the looked-up list has a status")
	}
	if list, err = r.Lookup(false, false).List(t.Context(), widget, "shop"); err != nil ||
		list.Items[0].Object["status"] == nil {
		t.Errorf("the looked-up list lacks the status of its object: %+v, %v", list, err)
	}
	single := NewAskedObjects(c.target)
	if _, err := single.Lookup(false, false).Get(t.Context(), widget, "shop", "w"); err != nil || !single.HasStatus() {
		t.Errorf("HasStatus is false although the looked-up object has a status: %v", err)
	}
}

// look makes look-ups, and watches the looked-up objects.
func (c *clusters) look(t *testing.T, names ...string) Lookups {
	t.Helper()
	r := NewAskedObjects(c.target)
	for _, name := range names {
		if _, err := r.Lookup(false, false).Get(t.Context(), configMap, "shop", name); err != nil &&
			!apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	if _, err := r.Lookup(true, false).List(t.Context(), widget, "shop"); err != nil {
		t.Fatal(err)
	}
	served, err := Capabilities(t.Context(), c.target)
	if err != nil {
		t.Fatal(err)
	}
	l := Lookups{Served: served.Summary}
	if l.Results, err = r.Results(us); err != nil {
		t.Fatal(err)
	}
	Follow(c.target, us, l, c.wake)
	c.synced(t)
	return l
}

// synced waits until the watches are in sync.
func (c *clusters) synced(t *testing.T) {
	t.Helper()
	eventually(t, func() bool {
		_, configs, _ := c.target.Client.Lookups.Version(c.target.Client.Reader,
			observe.Reference{Resource: configMaps, Namespace: "shop", Name: "settings"})
		return configs
	})
}

func TestFollowedLookupsWakeAndAreReadAgain(t *testing.T) {
	c := newClusters(t)
	c.put("settings", "1")
	l := c.look(t, "settings", "absent")
	c.gets()
	same, equal, err := l.Refresh(t.Context(), c.target, us)
	if err != nil || !equal || c.gets() != 0 {
		t.Errorf("unchanged look-ups are read again, or differ: %v", err)
	}

	c.put("settings", "2")
	eventually(t, func() bool { return c.wakes.Load() > 0 })
	if _, equal, err = same.Refresh(t.Context(), c.target, us); err != nil || equal {
		t.Errorf("a looked-up object with another value is reported as equal: %v", err)
	}

	// After a write that does not change the content, the object is read once.
	c.put("settings", "1")
	now := c.look(t, "settings", "absent")
	before := c.wakes.Load()
	c.Put("v1", "ConfigMap", "shop", "settings", map[string]any{"metadata": map[string]any{"managedFields": []any{}}})
	eventually(t, func() bool { return c.wakes.Load() > before })
	refreshed, equal, err := now.Refresh(t.Context(), c.target, us)
	if err != nil || !equal {
		t.Errorf("after a write that does not change the content, Refresh returned equal %t and the error %v", equal, err)
	}
	if refreshed.Results[1].version == now.Results[1].version && refreshed.Results[0].version == now.Results[0].version {
		t.Error("the refreshed look-ups have the old resource versions")
	}
}

func TestAnObjectThatAppearsEndsAMissingLookup(t *testing.T) {
	c := newClusters(t)
	l := c.look(t, "settings")
	c.put("settings", "1")
	eventually(t, func() bool { return c.wakes.Load() > 0 })
	if _, equal, err := l.Refresh(t.Context(), c.target, us); err != nil || equal {
		t.Errorf("Refresh returned equal %t and the error %v, want false", equal, err)
	}
}

func TestOwnDependentsDoNotWake(t *testing.T) {
	c := newClusters(t)
	l := c.look(t, "settings")
	c.putOwn("settings", "1")
	// The event of another ConfigMap comes after the event of the dependent.
	other := observe.Reference{Resource: configMaps, Namespace: "shop", Name: "other"}
	c.put("other", "1")
	eventually(t, func() bool {
		version, _, _ := c.target.Client.Lookups.Version(c.target.Client.Reader, other)
		return version != ""
	})
	if c.wakes.Load() != 0 {
		t.Error("the creation of a dependent of the component enqueued the component, although a look-up ignores " +
			"own dependents")
	}
	if _, equal, err := l.Refresh(t.Context(), c.target, us); err != nil || !equal {
		t.Errorf("Refresh returned equal %t and the error %v, want true", equal, err)
	}
}

func TestRefreshFindsOtherCapabilities(t *testing.T) {
	c := newClusters(t)
	l := c.look(t, "settings")
	l.Served.Digest = "others"
	if _, equal, err := l.Refresh(t.Context(), c.target, us); err != nil || equal {
		t.Errorf("Refresh returned equal %t and the error %v, want false", equal, err)
	}
}

func TestOtherCapabilitiesMatterOnlyIfAnAnswerChanges(t *testing.T) {
	c := newClusters(t)
	served, err := Capabilities(t.Context(), c.target)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name  string
		ask   func(generator.Capabilities)
		equal bool
	}{
		{"nothing was asked", func(generator.Capabilities) {}, true},
		{"the answers are the same", func(served generator.Capabilities) {
			served.APIVersions.Has("v1")
			served.APIVersions.Has("absent/v1")
		}, true},
		{"all versions were read", func(served generator.Capabilities) { served.APIVersions.All() }, false},
		{"a version is served now", func(served generator.Capabilities) { served.APIVersions.Has("example.com/v1") }, false},
		{
			"a version is not served any more", func(served generator.Capabilities) { served.APIVersions.Has("former/v1") },
			false,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := served.Capabilities
			before.APIVersions = generator.NewAPIVersions("v1", "former/v1")
			recorded, asked := NoteVersions(before)
			test.ask(recorded)
			l := Lookups{Served: discovery.Summary{Digest: "others"}, Asked: asked}
			current, equal, err := l.Refresh(t.Context(), c.target, us)
			if err != nil || equal != test.equal {
				t.Errorf("Refresh returned equal %t and the error %v, want %t", equal, err, test.equal)
			}
			if equal && current.Served.Digest != served.Digest {
				t.Errorf("the look-ups still have the previous capabilities %+v", current.Served)
			}
		})
	}
	before := served.Capabilities
	before.Version.GitVersion = "v0.1.0"
	_, asked := NoteVersions(before)
	l := Lookups{Served: discovery.Summary{Digest: "others"}, Asked: asked}
	if _, equal, err := l.Refresh(t.Context(), c.target, us); err != nil || equal {
		t.Errorf("Refresh returned equal %t and the error %v for another version of Kubernetes, want false", equal, err)
	}
}

func TestALookupOfAnUnservedTypeIsRepeatedWhenOtherTypesAreServed(t *testing.T) {
	c := newClusters(t)
	served, err := Capabilities(t.Context(), c.target)
	if err != nil {
		t.Fatal(err)
	}
	r := NewAskedObjects(c.target)
	gadget := schema.GroupVersionKind{Group: "gadgets.example.com", Version: "v1", Kind: "Gadget"}
	if _, err := r.Lookup(false, false).Get(t.Context(), gadget, "shop", "g"); !meta.IsNoMatchError(err) {
		t.Fatalf("got the error %v, want a missing type", err)
	}
	_, asked := NoteVersions(served.Capabilities)
	l := Lookups{Served: served.Summary, Asked: asked}
	if l.Results, err = r.Results(us); err != nil {
		t.Fatal(err)
	}
	l.Served.Digest = "others"
	if _, equal, err := l.Refresh(t.Context(), c.target, us); err != nil || !equal {
		t.Errorf("Refresh returned equal %t and the error %v while the type is not served, want true", equal, err)
	}
	c.Serve(gadget.GroupVersion().String(), "gadgets", "Gadget", true)
	eventually(t, func() bool {
		c.target.Client.Discovery.Mapper().Reset()
		_, equal, err := l.Refresh(t.Context(), c.target, us)
		return err == nil && !equal
	})
}

// A look-up of an unserved type is repeated if the API server of the look-up serves the type now: the type came back
// since the capabilities were read, so they have the same digest. What the other cluster serves does not matter.
func TestALookupOfAnUnservedTypeFollowsItsOwnCluster(t *testing.T) {
	gv := schema.GroupVersion{Group: "gadgets.example.com", Version: "v1"}
	for _, c := range []struct {
		name                  string
		local                 bool
		inTarget, inComponent bool
		repeated              bool
	}{
		{"in the target, which serves the type", false, true, false, true},
		{"in the target, and the other cluster serves the type", false, false, true, false},
		{"in the cluster of the component, which serves the type", true, false, true, true},
		{"in the cluster of the component, and the target serves the type", true, true, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			remote, home := newClusters(t), newClusters(t)
			target := target.Target{Client: remote.target.Client, Local: home.target.Client}
			r := NewAskedObjects(target)
			_, err := r.Lookup(c.local, false).Get(t.Context(), gv.WithKind("Gadget"), "shop", "g")
			if !meta.IsNoMatchError(err) {
				t.Fatalf("got the error %v, want a missing type", err)
			}
			results, err := r.Results(us)
			if err != nil {
				t.Fatal(err)
			}
			if c.inTarget {
				remote.Serve(gv.String(), "gadgets", "Gadget", true)
			}
			if c.inComponent {
				home.Serve(gv.String(), "gadgets", "Gadget", true)
			}
			now, err := Capabilities(t.Context(), target)
			if err != nil {
				t.Fatal(err)
			}
			repeated, err := mayHaveChanged(t.Context(), target, us, results[0], now, false)
			if err != nil || repeated != c.repeated {
				t.Errorf("repeated %t, error %v, want %t", repeated, err, c.repeated)
			}
		})
	}
}

func TestAfterARestartOtherCapabilitiesMatterOnlyIfAnAnswerChanges(t *testing.T) {
	c := newClusters(t)
	served, err := Capabilities(t.Context(), c.target)
	if err != nil {
		t.Fatal(err)
	}
	askAll := func(n int, suffix string) func(generator.Capabilities) {
		return func(served generator.Capabilities) {
			for i := range n {
				served.APIVersions.Has(fmt.Sprintf("absent%d/v1%s", i, suffix))
			}
		}
	}
	for _, test := range []struct {
		name    string
		version string
		ask     func(generator.Capabilities)
		equal   bool
	}{
		{"nothing was asked", "", func(generator.Capabilities) {}, true},
		{"the answers are the same", "", func(served generator.Capabilities) {
			served.APIVersions.Has("v1")
			served.APIVersions.Has("absent/v1")
		}, true},
		{
			"a version is served now", "", func(served generator.Capabilities) { served.APIVersions.Has("example.com/v1") },
			false,
		},
		{
			"a version is not served any more", "", func(served generator.Capabilities) { served.APIVersions.Has("former/v1") },
			false,
		},
		{"all versions were read", "", func(served generator.Capabilities) { served.APIVersions.All() }, false},
		{"the most versions that are stored", "", askAll(maxAskedVersions, ""), true},
		{"more versions than are stored", "", askAll(maxAskedVersions+1, ""), false},
		{"a version that is too long to be stored", "", askAll(1, strings.Repeat("x", maxVersionName)), false},
		{"another version of Kubernetes", "v0.1.0", func(generator.Capabilities) {}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := served.Capabilities
			before.APIVersions = generator.NewAPIVersions("v1", "former/v1")
			before.Version.GitVersion = cmp.Or(test.version, before.Version.GitVersion)
			rendered, asked := NoteVersions(before)
			test.ask(rendered)
			l := Lookups{Served: discovery.Summary{Digest: "others"}, Asked: asked}
			text, err := l.RecordCapabilities()
			if err != nil {
				t.Fatal(err)
			}
			status := recorded(t, l)
			recalled, equal, err := Recall(t.Context(), c.target, us, status, text)
			if err != nil || equal != test.equal || recalled.Served.Digest != served.Digest {
				t.Errorf("Recall returned %+v, equal %t and the error %v, want %t", recalled.Served, equal, err, test.equal)
			}
			if _, equal, err = Recall(t.Context(), c.target, us, status, "{}"); err != nil || equal {
				t.Errorf("without recorded capabilities, Recall returned equal %t and the error %v, want false", equal, err)
			}
			status.LookupsDigest = "others"
			if _, equal, err = Recall(t.Context(), c.target, us, status, text); err != nil || equal {
				t.Errorf("for other look-ups, Recall returned equal %t and the error %v, want false", equal, err)
			}
		})
	}
}

func TestRecordedLookupsAreReadAgainAfterARestart(t *testing.T) {
	c := newClusters(t)
	c.put("settings", "1")
	l := c.look(t, "settings", "absent")
	status := recorded(t, l)
	recalled, equal, err := Recall(t.Context(), c.target, us, status, "")
	if err != nil || !equal || len(recalled.Results) != len(l.Results) {
		t.Errorf("Recall returned %+v, equal %t and the error %v, want all look-ups as equal", recalled, equal, err)
	}
	c.put("settings", "2")
	if _, equal, err = Recall(t.Context(), c.target, us, status, ""); err != nil || equal {
		t.Errorf("a looked-up object with another value is reported as equal: %v", err)
	}
	status.Lookups = append(status.Lookups, "no look-up")
	if _, equal, err = Recall(t.Context(), c.target, us, status, ""); err != nil || equal {
		t.Errorf("a line of status.lookups that cannot be parsed is reported as equal: %v", err)
	}
}

func TestALookupThatFailsAtARestartIsAnError(t *testing.T) {
	for _, c := range []struct {
		name     string
		answer   error
		reason   string
		terminal bool
	}{
		{
			"because it is forbidden", apierrors.NewForbidden(corev1.Resource("configmaps"), "settings", errors.New("no role")),
			metav1alpha1.ReasonForbidden, true,
		},
		{"because the API server fails", apierrors.NewInternalError(errors.New("oh")), metav1alpha1.ReasonRetrying, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newClusters(t)
			s.put("settings", "1")
			status := recorded(t, s.look(t, "settings"))
			s.Refuse(func(r apiservertest.Request) error {
				if strings.HasSuffix(r.Path, "/settings") {
					return c.answer
				}
				return nil
			})
			_, equal, err := Recall(t.Context(), s.target, us, status, "")
			failure := passerror.Of(err)
			if equal || failure == nil || failure.Reason != c.reason || failure.Terminal != c.terminal ||
				!strings.Contains(failure.Message, "look up /v1/ConfigMap/shop/settings") {
				t.Errorf("the error does not name the failed look-up: %v", failure)
			}
		})
	}
}

func TestTypesThatCannotBeWatchedAreNamedAndReadAgain(t *testing.T) {
	c := newClusters(t)
	c.put("settings", "1")
	c.Refuse(func(r apiservertest.Request) error {
		if strings.HasSuffix(r.Path, "/configmaps") {
			return apierrors.NewForbidden(corev1.Resource("configmaps"), "", errors.New("no role"))
		}
		return nil
	})
	r := NewAskedObjects(c.target)
	if _, err := r.Lookup(false, false).Get(t.Context(), configMap, "shop", "settings"); err != nil {
		t.Fatal(err)
	}
	served, err := Capabilities(t.Context(), c.target)
	if err != nil {
		t.Fatal(err)
	}
	l := Lookups{Served: served.Summary}
	if l.Results, err = r.Results(us); err != nil {
		t.Fatal(err)
	}
	Follow(c.target, us, l, c.wake)
	eventually(t, func() bool { return len(Unwatched(c.target, us)) > 0 })
	if unwatched := Unwatched(c.target, us); len(unwatched) != 1 || unwatched[0].Type != "looked-up configmaps" {
		t.Errorf("the type that cannot be watched is not reported: %+v", unwatched)
	}
	c.put("settings", "2")
	if _, equal, err := l.Refresh(t.Context(), c.target, us); err != nil || equal {
		t.Errorf("an object that is not watched is not read again: %v", err)
	}
	Unfollow(c.target.Local.Connection, us)
	c.target.Client.Release(owner)
	if unwatched := Unwatched(c.target, us); len(unwatched) != 0 {
		t.Errorf("after the component was released, these look-ups are still reported as unwatched: %+v", unwatched)
	}
}

func TestCapabilitiesThatCannotBeReadAreRetried(t *testing.T) {
	connection, err := target.Connect(t.Context(), &rest.Config{Host: "http://127.0.0.1:1"}, target.Options{})
	if err != nil {
		t.Fatal(err)
	}
	unreachable := target.Target{Client: connection.Own(), Local: connection.Own()}
	_, err = Capabilities(t.Context(), unreachable)
	if failure := passerror.Of(err); failure == nil || failure.Reason != metav1alpha1.ReasonRetrying || failure.Terminal {
		t.Errorf("the read of the capabilities of an unreachable cluster must be retried, got %v", failure)
	}
	if _, _, err := (Lookups{}).Refresh(t.Context(), unreachable, us); err == nil {
		t.Error("look-ups are refreshed without the capabilities")
	}
	if _, _, err := Recall(t.Context(), unreachable, us, &metav1alpha1.Status{}, ""); err == nil {
		t.Error("look-ups are recalled without the capabilities")
	}
}

func TestAFailedLookupExplainsTheErrorOfAGenerator(t *testing.T) {
	overloaded := apierrors.NewTooManyRequests("later", 7)
	failed := errors.New("template: lookup failed")
	for _, c := range []struct {
		name      string
		answer    error
		generated error
		retried   bool
		after     time.Duration
	}{
		{"an overloaded API server", overloaded, failed, true, 7 * time.Second},
		{"an object that does not exist", missing, failed, false, 0},
		{"a terminal error of the generator", overloaded, reconcile.TerminalError(failed), false, 0},
		{"a generator that succeeds", overloaded, nil, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newClusters(t)
			s.Refuse(func(r apiservertest.Request) error {
				if strings.Contains(r.Path, "/configmaps") {
					return c.answer
				}
				return nil
			})
			var failures Failures
			l := failures.Of(NewAskedObjects(s.target).Lookup(false, false))
			_, _ = l.Get(t.Context(), configMap, "shop", "settings")
			_, _ = l.List(t.Context(), configMap, "shop")
			err := failures.Explain(c.generated)
			var retry *passerror.Retry
			if errors.As(err, &retry) != c.retried || retry != nil && retry.After != c.after {
				t.Errorf("the error of the look-up is not retried as expected: %v", err)
			}
			if !c.retried && !errors.Is(err, c.generated) {
				t.Errorf("the error of the generator is not returned: %v", err)
			}
		})
	}
}
