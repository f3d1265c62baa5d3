package inventory

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

// writeRecord writes a record without content.
func (c *cluster) writeRecord(kind records.Kind, id string) {
	c.t.Helper()
	parts, err := records.Encode(records.Inventory, []string{})
	if err == nil {
		rec := records.Record{
			Kind: kind, ID: id,
			Origin: records.OriginOf(&metav1alpha1.Status{InputDigest: "inputs", Revision: 3}),
		}
		err = c.store.Records.Write(c.t.Context(), c.owner(), rec, parts)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

func TestRecordsAreFoundTogetherOrNotAtAll(t *testing.T) {
	for failure := 1; failure <= 3; failure++ {
		c := newCluster(t)
		c.writeRecord(records.Phases, "a")
		c.writeRecord(records.Rendering, "b")
		p, asked := c.load(), 0
		p.Status.PhaseRecord = records.PhasesUnknown
		c.Refuse = func(verb, _ string) error {
			if asked++; verb == "list" && asked == failure {
				return later()
			}
			return nil
		}
		isFound, err := c.store.FindOthers(t.Context(), p, c.owner())
		found := []string{p.Status.PhaseRecord, p.Status.RenderedSet}
		if err == nil && (!isFound || !slices.Equal(found, []string{"a", "?b"})) ||
			err != nil && (isFound || !slices.Equal(found, []string{records.PhasesUnknown, ""})) {
			t.Errorf("after failure %d (%v) the status names the records %q", failure, err, found)
		}
		if err == nil && (p.Status.InputDigest != "inputs" || p.Status.Revision != 3) {
			t.Errorf("the status does not have the input digest and revision of the record: %+v", p.Status)
		}
		if isFound, err = c.store.FindOthers(t.Context(), &part{}, c.owner()); isFound || err != nil {
			t.Errorf("FindOthers for a status that names its records returned %t, %v", isFound, err)
		}
	}
}

func TestRecordsThatNobodyMayListAreUnknownWhereTheStatusNamesNone(t *testing.T) {
	for named, want := range map[string]string{
		"": records.PhasesUnknown, records.PhasesUnknown: records.PhasesUnknown,
		records.PhasesPending: records.PhasesPending, "a": "a",
	} {
		c := newCluster(t)
		st := &metav1alpha1.Status{PhaseRecord: named, RenderedSet: "b"}
		c.refuseLists(forbidden())
		if err := restoreOthers(t.Context(), c.store.Records, st, c.owner()); err != nil {
			t.Fatal(err)
		}
		if st.PhaseRecord != want || st.RenderedSet != "b" {
			t.Errorf("with the named record %q, the status has the phase record %q and the pinned rendering %q",
				named, st.PhaseRecord, st.RenderedSet)
		}
	}
}

func TestRecordsThatNobodyMayListAreUnknownWhereTheStatusIsNotBelieved(t *testing.T) {
	c := newCluster(t)
	st := &metav1alpha1.Status{
		PhaseRecord: "a", RenderedSet: "b", InputDigest: "inputs",
		RecordDigest: "doubt:1a2b edited",
	}
	c.refuseLists(forbidden())
	if err := restoreOthers(t.Context(), c.store.Records, st, c.owner()); err != nil {
		t.Fatal(err)
	}
	if st.PhaseRecord != records.PhasesUnknown || st.RenderedSet != "" || st.InputDigest != "" {
		t.Errorf("the status has the phase record %q, the pinned rendering %q and the input digest %q",
			st.PhaseRecord, st.RenderedSet, st.InputDigest)
	}
}

func TestADeletedPinnedRenderingStaysNamedWhereTheStatusIsNotBelieved(t *testing.T) {
	for record, want := range map[string]string{"": "?b", "b": "?b", "c": "?c"} {
		c := newCluster(t)
		if record != "" {
			c.writeRecord(records.Rendering, record)
		}
		st := &metav1alpha1.Status{RenderedSet: "b", InputDigest: "inputs", RecordDigest: "doubt:1a2b edited"}
		if err := restoreOthers(t.Context(), c.store.Records, st, c.owner()); err != nil || st.RenderedSet != want ||
			st.InputDigest != "inputs" {
			t.Errorf("with the record %q, the status names %q with the input digest %q, and the error is %v", record,
				st.RenderedSet, st.InputDigest, err)
		}
	}
}

func TestOnlyTheRenderingOfABelievedStatusIsProven(t *testing.T) {
	for name, test := range map[string]struct {
		records       []string
		named, digest string
		want          string
	}{
		"no record":                               {nil, "", "", ""},
		"the record that the status names":        {[]string{"a", "b"}, "a", "", "a"},
		"a found record that the status names":    {[]string{"a", "b"}, "?a", "", "?a"},
		"a record that the status does not name":  {[]string{"a"}, "", "", "?a"},
		"another record than the named one":       {[]string{"b"}, "a", "", "?b"},
		"a named record that does not exist":      {nil, "a", "", "a"},
		"the record of a status that was edited":  {[]string{"a", "b"}, "b", "doubt:1a2b edited", "?a"},
		"no record, and a status that was edited": {nil, "a", "doubt:1a2b edited", "?a"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			for _, id := range test.records {
				c.writeRecord(records.Rendering, id)
			}
			st := &metav1alpha1.Status{RenderedSet: test.named, RecordDigest: test.digest}
			if err := restoreOthers(t.Context(), c.store.Records, st, c.owner()); err != nil || st.RenderedSet != test.want {
				t.Errorf("the status names %q, want %q; error %v", st.RenderedSet, test.want, err)
			}
		})
	}
}

func TestPhasesAreRestoredFromTheirSecrets(t *testing.T) {
	for name, test := range map[string]struct {
		records []string
		named   string
		want    string
	}{
		"no record":                                {nil, records.PhasesUnknown, ""},
		"a record that the status does not name":   {[]string{"a"}, "", "a"},
		"the record that the status names":         {[]string{"a", "b"}, "a", "a"},
		"a pending record that is not written yet": {nil, records.PhasesPending, records.PhasesPending},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			for _, id := range test.records {
				c.writeRecord(records.Phases, id)
			}
			st := &metav1alpha1.Status{PhaseRecord: test.named}
			if err := restoreOthers(t.Context(), c.store.Records, st, c.owner()); err != nil || st.PhaseRecord != test.want {
				t.Errorf("the status names the phase record %q, with the error %v", st.PhaseRecord, err)
			}
		})
	}
}

func TestAPinnedRenderingIsKnownWithoutAListWhereTheStatusNamesIt(t *testing.T) {
	for named, stalls := range map[string]bool{"": true, "a": false} {
		c := newCluster(t)
		p := c.load()
		p.Status = metav1alpha1.Status{PhaseRecord: records.PhasesUnknown, RenderedSet: named}
		c.states.Of(app).Records.SetID(records.Rendering, "a")
		c.refuseLists(forbidden())
		if err := c.store.Pinned().Record(t.Context(), p, c.owner(), Set{ID: "a"}); (err != nil) != stalls {
			t.Errorf("with the named rendering %q, Record returned %v", named, err)
		}
	}
}

func TestADeletionFindsOutWhatIsUnknownWhereAnythingWasApplied(t *testing.T) {
	for applied, stalls := range map[string]bool{"": false, "inputs": true} {
		c := newCluster(t)
		p := c.load()
		p.Status = metav1alpha1.Status{PhaseRecord: records.PhasesUnknown, AppliedDigest: applied}
		c.refuseLists(later())
		if _, _, err := c.store.Phases().Recall(t.Context(), p, c.owner(), false); (err != nil) != stalls {
			t.Errorf("with the applied digest %q, Recall returned %v", applied, err)
		}
	}
}

func TestRecordsThatNobodyCouldLookForAreLookedForAgain(t *testing.T) {
	c := newCluster(t)
	p := c.load()
	p.Status.PhaseRecord = records.PhasesUnknown
	c.refuseLists(forbidden())
	end := func() {
		t.Helper()
		if err := c.store.Phases().End(t.Context(), p, c.owner()); err != nil || p.Status.PhaseRecord != "" {
			t.Errorf("End for the record of deletion phases returned %v, and the status has %q", err, p.Status.PhaseRecord)
		}
		if err := c.store.Pinned().End(t.Context(), p, c.owner()); err != nil {
			t.Errorf("End for the pinned rendering returned %v", err)
		}
	}
	end()
	c.Refuse, c.Requests = nil, nil
	end()
	if len(c.Requests) == 0 {
		t.Error("the Secrets with records were not listed again")
	}
	c.Requests = nil
	end()
	if len(c.Requests) > 0 {
		t.Errorf("the Secrets with records are listed again, although the last list was empty: %q", c.Requests)
	}
}

// phases returns objects of the phases of a deletion.
func phases(c *cluster, names ...string) []manifests.Object {
	c.t.Helper()
	var bodies []*unstructured.Unstructured
	for _, name := range names {
		body := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
		body.SetName(name)
		bodies = append(bodies, body)
	}
	objects, err := normalise.Manifests(bodies, normalise.Options{
		Reconciler: reconciler, Namespace: "shop", Owner: c.owner(),
		ScopeOf: func(schema.GroupVersionKind) (manifests.Scope, error) { return manifests.ScopeNamespaced, nil },
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return objects
}

func TestPhasesAreRecordedAndRecalled(t *testing.T) {
	c := newCluster(t)
	record := func(names ...string) {
		t.Helper()
		if err := c.store.Phases().Record(t.Context(), c.load(), c.owner(), nil); err != nil {
			t.Fatal(err)
		}
		p := c.load()
		if err := c.store.Phases().Record(t.Context(), p, c.owner(), phases(c, names...)); err != nil {
			t.Fatal(err)
		}
		if err := c.store.Components.WriteStatus(t.Context(), p, components.RefOf(&p.Status)); err != nil {
			t.Fatal(err)
		}
	}
	record("first")
	if got := c.load(); len(got.Finalizers) == 0 || len(c.secretsOf(records.Phases)) != 1 {
		t.Errorf("the component has the finalizers %q, want a finalizer and one Secret with a record", got.Finalizers)
	}
	p := c.load()
	if err := c.store.Phases().Record(t.Context(), p, c.owner(), phases(c, "second")); err != nil {
		t.Fatal(err)
	}
	if got := c.secretsOf(records.Phases); len(got) != 1 || records.IDOf(got[0]) != c.load().Status.PhaseRecord {
		t.Errorf("the Secrets %q remain, and the status names %q", got, c.load().Status.PhaseRecord)
	}
	c.Requests = nil
	if err := c.store.Phases().Record(t.Context(), p, c.owner(), phases(c, "second")); err != nil || len(c.Requests) > 0 {
		t.Errorf("a second Record of the same deletion phases returned %v, with the requests %q", err, c.Requests)
	}
	if bodies, _, err := c.store.Phases().Recall(t.Context(), p, c.owner(), false); err != nil || bodies != nil {
		t.Errorf("Recall returned objects of deletion phases, although nothing was applied: %v, %v", bodies, err)
	}
	bodies, _, err := c.store.Phases().Recall(t.Context(), p, c.owner(), true)
	if err != nil || len(bodies) != 1 || bodies[0].GetName() != "second" || len(bodies[0].GetLabels()) > 0 {
		t.Errorf("Recall returned the objects %v and the error %v", bodies, err)
	}
	clear(c.Secrets)
	c.store.States.Of(client.ObjectKeyFromObject(p)).Records.SetID(records.Phases, records.Lost)
	for range 2 {
		if err := c.store.Phases().Record(t.Context(), p, c.owner(), phases(c, "second")); err != nil {
			t.Fatal(err)
		}
		if got := c.secretsOf(records.Phases); len(got) != 1 || records.IDOf(got[0]) != c.load().Status.PhaseRecord {
			t.Errorf("after the loss of the record, there are the Secrets %q, and the status names %q", got,
				c.load().Status.PhaseRecord)
		}
	}
	clear(c.Secrets)
	_, lost, err := c.store.Phases().Recall(t.Context(), p, c.owner(), true)
	if err != nil || lost.Reason != "PhasesLost" || p.Status.PhaseRecord != records.PhasesPending {
		t.Errorf("Recall of a deleted record of deletion phases returned the event %v and the error %v", lost, err)
	}
	if err := c.store.Phases().End(t.Context(), p, c.owner()); err != nil || p.Status.PhaseRecord != "" {
		t.Errorf("End for the record of deletion phases returned %v", err)
	}
}
