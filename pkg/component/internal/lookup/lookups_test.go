package lookup

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestARecordedLookupHasTheKeyOfTheLookup(t *testing.T) {
	for _, k := range []key{
		{gvk: configMap, namespace: "shop", name: "settings"},
		{gvk: configMap, namespace: "shop", name: "settings", local: true},
		{gvk: widget, list: true},
		{gvk: widget, namespace: "shop", list: true},
	} {
		parsed, err := metav1alpha1.ParseLookup(k.entry().String())
		if err != nil {
			t.Fatal(err)
		}
		if got := keyOf(parsed); got != k {
			t.Errorf("got %+v, want %+v", got, k)
		}
	}
}

// object returns a ConfigMap with a resource version.
func object(name, version, value string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"value": value},
		"metadata": map[string]any{"namespace": "shop", "name": name, "resourceVersion": version},
	}}
}

// withStatus adds a status to an object.
func withStatus(o *unstructured.Unstructured, status string) *unstructured.Unstructured {
	o = o.DeepCopy()
	o.Object["status"] = status
	return o
}

// owned makes an object a dependent of the component.
func owned(o *unstructured.Unstructured) *unstructured.Unstructured {
	o = o.DeepCopy()
	o.SetLabels(map[string]string{reconciler + "/" + manifests.LabelOwnerID: us.ID})
	return o
}

// found returns the result of a look-up of an object. If o is nil, the object does not exist.
func found(t *testing.T, o *unstructured.Unstructured) Result {
	t.Helper()
	k := key{gvk: configMap, namespace: "shop", name: "settings"}
	a := answer{resource: configMaps, object: o}
	if o == nil {
		a.err = missing
	}
	return resultOf(t, k, a)
}

// listed returns the result of a look-up of a list.
func listed(t *testing.T, objects ...*unstructured.Unstructured) Result {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	for _, o := range objects {
		list.Items = append(list.Items, *o)
	}
	return resultOf(t, key{gvk: configMap, namespace: "shop", list: true}, answer{resource: configMaps, list: list})
}

func resultOf(t *testing.T, k key, a answer) Result {
	t.Helper()
	r, err := us.identify(k, a)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestResultsAreEqualUntilTheContentChanges(t *testing.T) {
	a, b := object("a", "1", "x"), object("b", "1", "x")
	was, none := found(t, a), found(t, nil)
	for _, c := range []struct {
		name       string
		was, later Result
		equal      bool
	}{
		{"the same content in a later version", was, found(t, object("a", "2", "x")), true},
		{"changed content", was, found(t, object("a", "2", "y")), false},
		{"a changed status", found(t, withStatus(a, "x")), found(t, withStatus(a, "y")), false},
		{"an object that was deleted", was, none, false},
		{"an object that was created", none, was, false},
		{"an object that is still missing", none, none, true},
		{"an object that became a dependent of the component", was, found(t, owned(a)), true},
		{"a dependent of the component that was deleted", found(t, owned(a)), none, true},
		{"a dependent of the component that was orphaned", found(t, owned(a)), was, false},
		{"a type that is not served any more", was, resultOf(t, was.key, answer{err: missing}), false},
		{"a list with another object", listed(t, a), listed(t, a, b), false},
		{"a list without an object", listed(t, a, b), listed(t, a), false},
		{"a list with a changed object", listed(t, a), listed(t, object("a", "2", "y")), false},
		{"a list with objects in later versions", listed(t, a, b), listed(t, object("a", "2", "x"), b), true},
		{"a list with a new dependent of the component", listed(t, a), listed(t, a, owned(b)), true},
		{"a list without a previous dependent of the component", listed(t, a, owned(b)), listed(t, a), true},
		{"a list with an object that became a dependent", listed(t, a, b), listed(t, a, owned(b)), true},
		{"a list with an orphaned dependent", listed(t, a, owned(b)), listed(t, a, b), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.was.equal(c.later); got != c.equal {
				t.Errorf("equal returned %t for the two look-up results", got)
			}
		})
	}
}

func TestTheOwnersRecordsAreItsOwnObjects(t *testing.T) {
	secret := object("a", "1", "x")
	secret.SetLabels(map[string]string{reconciler + "/" + records.LabelRecord: us.ID})
	if got := found(t, secret); got.state != metav1alpha1.LookupOwn {
		t.Errorf("a Secret with a record of the component has the look-up state %s", got.state)
	}
	secret.SetLabels(map[string]string{reconciler + "/" + manifests.LabelOwnerID: "another"})
	if got := found(t, secret); got.state != metav1alpha1.LookupFound {
		t.Errorf("a dependent of another component has the look-up state %s", got.state)
	}
}

func TestOwnObjectsOfAListAreNoPartOfItsVersionAndDigest(t *testing.T) {
	a, b := object("a", "1", "x"), owned(object("b", "1", "x"))
	alone, with := listed(t, a), listed(t, a, b)
	if alone.version != with.version || alone.content != with.content {
		t.Error("a dependent of the component changes the digest or version of a looked-up list")
	}
}

// recorded returns the status in which look-ups are recorded.
func recorded(t *testing.T, l Lookups) *metav1alpha1.Status {
	t.Helper()
	var status metav1alpha1.Status
	var err error
	if status.Lookups, status.LookupsDigest, err = l.Lines(); err != nil {
		t.Fatal(err)
	}
	return &status
}

// lookups returns look-ups in a target with the given capabilities.
func lookups(served string, results ...Result) Lookups {
	return Lookups{Served: discovery.Summary{Digest: served}, Results: results}
}

func TestRecordedLookupsAreEqualUntilAResultChanges(t *testing.T) {
	a := object("a", "1", "x")
	was := lookups("capabilities", found(t, a))
	readsStatus := lookups("capabilities", found(t, withStatus(a, "x")))
	readsStatus.ReadsStatus = true
	for _, c := range []struct {
		name               string
		was, now           Lookups
		equal, readsStatus bool
	}{
		{"equal results", was, was, true, false},
		{"changed content", was, lookups("capabilities", found(t, object("a", "1", "y"))), false, false},
		{"other capabilities", was, lookups("others", found(t, a)), false, false},
		{
			"a further result", was,
			lookups("capabilities", found(t, a), listed(t)), false, false,
		},
		{
			"an object that became a dependent of the component", was,
			lookups("capabilities", found(t, owned(a))), true, false,
		},
		{
			"a dependent of the component that was deleted", lookups("capabilities", found(t, owned(a))),
			lookups("capabilities", found(t, nil)), true, false,
		},
		{
			"a status that the recorded digest does not cover", was,
			lookups("capabilities", found(t, withStatus(a, "x"))), false, false,
		},
		{"an equal status", readsStatus, readsStatus, true, true},
		{
			"another status", readsStatus,
			lookups("capabilities", found(t, withStatus(a, "y"))), false, true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			equal, readsStatus := c.now.EqualRecorded(recorded(t, c.was))
			if equal != c.equal || readsStatus != c.readsStatus {
				t.Errorf("EqualRecorded returned equal %t, reads the status %t", equal, readsStatus)
			}
		})
	}
}

func TestLookupsAreRecordedIfTheLinesAreEqual(t *testing.T) {
	a := object("a", "1", "x")
	was := lookups("capabilities", found(t, withStatus(a, "x")))
	status := recorded(t, was)
	if !was.AreRecorded(status) {
		t.Error("recorded look-ups are reported as not recorded")
	}
	// The rendering does not use the status, so the status is not part of the record.
	if now := lookups("capabilities", found(t, withStatus(a, "y"))); !now.AreRecorded(status) {
		t.Error("a status that the rendering does not use changes the recorded look-ups")
	}
	now := was
	now.ReadsStatus = true
	if now.AreRecorded(status) {
		t.Error("look-ups that now include the status are reported as recorded")
	}
	status.Lookups = []string{"no look-up"}
	if was.AreRecorded(status) {
		t.Error("a line of status.lookups that cannot be parsed is reported as equal")
	}
	if equal, _ := was.EqualRecorded(status); equal {
		t.Error("a line of status.lookups that cannot be parsed is reported as equal")
	}
}

func TestAStatusNamesLookupsUpToALimit(t *testing.T) {
	many := func(n int) Lookups {
		l := lookups("capabilities")
		for i := range n {
			l.Results = append(l.Results, resultOf(t, key{gvk: configMap, namespace: "shop", name: fmt.Sprint(i)}, answer{
				resource: configMaps, object: object("a", "1", "x"),
			}))
		}
		return l
	}
	for n, lines := range map[int]int{0: 0, 1: 1, maxRecorded: maxRecorded, maxRecorded + 1: 0} {
		l := many(n)
		status := recorded(t, l)
		if len(status.Lookups) != lines || status.LookupsDigest == "" {
			t.Errorf("%d look-ups: the status has %d lines and the digest %q", n, len(status.Lookups), status.LookupsDigest)
		}
		if !l.AreRecorded(status) {
			t.Errorf("%d look-ups in the status are reported as not recorded", n)
		}
		if same, want := l.SameCapabilities(status), n <= maxRecorded; same != want {
			t.Errorf("%d look-ups: SameCapabilities returned %t, want the opposite", n, same)
		}
		l.Served.Digest = "others"
		if l.SameCapabilities(status) {
			t.Errorf("%d look-ups: other capabilities are reported as the same", n)
		}
	}
}

func TestTheRecordNamesTheStates(t *testing.T) {
	l := lookups("capabilities", found(t, object("a", "1", "x")), found(t, nil), found(t, owned(object("a", "1", "x"))),
		resultOf(t, key{gvk: widget, name: "w", local: true}, answer{err: missing}))
	lines, _, err := l.Lines()
	if err != nil {
		t.Fatal(err)
	}
	lines[0], _, _ = strings.Cut(lines[0], "=")
	want := []string{
		"/v1/ConfigMap/shop/settings d", "/v1/ConfigMap/shop/settings is=missing", "/v1/ConfigMap/shop/settings is=own",
		"example.com/v1/Widget//w l=true is=unserved",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("the status has the look-ups %q", lines)
	}
}
