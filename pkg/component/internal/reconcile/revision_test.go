package reconcile

import (
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/input"
	"github.com/fairlead-io/fairlead/pkg/component/internal/lookup"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// setOf returns a set with the given capabilities and objects.
func setOf(served string, objects ...manifests.Object) rendering.Set {
	return rendering.Set{
		Rendered: rendering.Rendered{Lookups: lookup.Lookups{Served: discovery.Summary{Digest: served}}}, Objects: objects,
	}
}

// statusOf returns the status of a component in rendition 2 of the given revision. The recorded look-ups are those of
// set.
func statusOf(t *testing.T, set rendering.Set, revision int64) metav1alpha1.Status {
	t.Helper()
	s := metav1alpha1.Status{InputDigest: "inputs", Revision: revision, Rendition: 2}
	var err error
	if s.Lookups, s.LookupsDigest, err = set.Lookups.Lines(); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheNextRevision(t *testing.T) {
	changed := rendered
	changed.Digest = "other"
	before := setOf("capabilities", rendered)
	applied := []metav1alpha1.InventoryEntry{settings}
	newer := settings
	newer.Revision, newer.Rendition = 9, 4
	undiscovered := func(set rendering.Set) rendering.Set {
		set.Lookups.Served.Undiscovered = []string{"c.example.com/v1"}
		return set
	}
	lost := setOf("others", changed)
	lost.ValuesLost = true
	pinned := undiscovered(setOf("others", rendered))
	pinned.ID = "record"
	withSet := statusOf(t, before, 3)
	withSet.RenderedSet = "record"
	for _, c := range []struct {
		name                string
		before              metav1alpha1.Status
		digest              string
		set                 rendering.Set
		inventory           []metav1alpha1.InventoryEntry
		revision, rendition int64
		// begins is set if a new revision or a new rendition is expected. entered is set if the look-ups in the status
		// are expected to change.
		begins, entered bool
	}{
		{"the first inputs are revision 1", metav1alpha1.Status{}, "inputs", before, nil, 1, 0, true, true},
		{"new inputs are the next revision", statusOf(t, before, 3), "others", before, applied, 4, 0, true, false},
		{
			"new inputs get none of the revisions in the record",
			metav1alpha1.Status{},
			"inputs", before,
			[]metav1alpha1.InventoryEntry{newer, settings},
			10, 0, true, true,
		},
		{"the same set is no rendition", statusOf(t, before, 3), "inputs", before, applied, 3, 2, false, false},
		{
			"an equal set of other look-ups is no rendition", statusOf(t, before, 3), "inputs", setOf("others", rendered),
			applied, 3, 2, false, false,
		},
		{
			"another set of other look-ups is the next rendition", statusOf(t, before, 3), "inputs", setOf("others", changed),
			applied, 3, 3, true, true,
		},
		{
			"a rendition gets none of the renditions in the record", statusOf(t, before, 9), "inputs",
			setOf("others", changed),
			[]metav1alpha1.InventoryEntry{newer},
			9, 5, true, true,
		},
		{
			"the renditions of other revisions do not count", statusOf(t, before, 3), "inputs", setOf("others", changed),
			[]metav1alpha1.InventoryEntry{newer},
			3, 3, true, true,
		},
		{
			"another set of the same look-ups is no rendition", statusOf(t, before, 3), "inputs",
			setOf("capabilities", changed), applied, 3, 2, false, false,
		},
		{"a set whose values are lost is no rendition", withSet, "inputs", lost, applied, 3, 2, false, false},
		{
			"values that were never recorded cannot be lost", statusOf(t, before, 3), "inputs", lost,
			applied, 3, 3, true, true,
		},
		{
			"the look-ups of a set that does not depend on undiscovered groups are entered", statusOf(t, before, 3), "inputs",
			undiscovered(setOf("others", rendered)), applied, 3, 2, false, true,
		},
		{
			"the look-ups of a pinned set are not entered, because it may depend on undiscovered groups",
			statusOf(t, before, 3), "inputs", pinned, applied, 3, 2, false, false,
		},
		{
			"the same capabilities are not written again, undiscovered groups or not", statusOf(t, before, 3), "inputs",
			undiscovered(before), applied, 3, 2, false, false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := input.Inputs{
				Declaration: input.Declaration{Namespace: "shop", Name: "web"}, Digest: c.digest,
				Managed: []manifests.ManagedType{},
			}
			next, err := nextRevision(c.before, target.Target{Cluster: "there"}, in, c.set, c.inventory, start)
			if err != nil {
				t.Fatal(err)
			}
			if next.Revision != c.revision || next.Rendition != c.rendition || next.InputDigest != c.digest {
				t.Errorf("the status has revision %d, rendition %d of the inputs %s", next.Revision, next.Rendition,
					next.InputDigest)
			}
			if began := next.ProgressingSince != nil; began != c.begins {
				t.Errorf("a new revision or rendition begins: %t, want the opposite", began)
			}
			if entered := next.LookupsDigest != c.before.LookupsDigest; entered != c.entered {
				t.Errorf("the look-ups in the status change: %t, want the opposite", entered)
			}
			if next.TargetCluster != "there" || next.TargetNamespace != "shop" || next.TargetName != "web" {
				t.Errorf("the target in the status is wrong: %+v", next)
			}
		})
	}
}

func TestARevisionThatIsNotRecordedIsWithdrawn(t *testing.T) {
	before := metav1alpha1.Status{
		InputDigest: "before", Revision: 3, Rendition: 2, Lookups: []string{"a"}, LookupsDigest: "b",
		ProgressingSince: new(metav1.NewTime(start)),
	}
	next := before
	next.InputDigest, next.Revision, next.Rendition = "next", 4, 0
	next.Lookups, next.LookupsDigest, next.ProgressingSince = nil, "c", new(metav1.NewTime(start.Add(time.Hour)))
	next.Identity, next.RenderedSet, next.PhaseRecord = "here/u", "set", "phases"
	next.History = []metav1alpha1.RevisionRecord{{Revision: 4}}
	want := before
	want.Identity, want.RenderedSet, want.PhaseRecord = next.Identity, next.RenderedSet, next.PhaseRecord
	if got := withoutRevision(next, before); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestTheNewestRevisionAndRenditionOfARecord(t *testing.T) {
	inventory := []metav1alpha1.InventoryEntry{
		{Revision: 2, Rendition: 7}, {Revision: 5, Rendition: 1}, {Revision: 5, Rendition: 3}, {},
	}
	if got := newestRevision(inventory); got != 5 {
		t.Errorf("newestRevision returned %d, want 5", got)
	}
	for revision, want := range map[int64]int64{2: 7, 5: 3, 6: 0} {
		if got := newestRendition(inventory, revision); got != want {
			t.Errorf("newestRendition returned %d for revision %d", got, revision)
		}
	}
	if newestRevision(nil) != 0 || newestRendition(nil, 1) != 0 {
		t.Error("newestRevision or newestRendition of an empty inventory is not 0")
	}
}

func TestTheRecordOfARevisionNamesItsSource(t *testing.T) {
	source := &metav1alpha1.SourceReference{SHA256: "sha"}
	settings := input.NewReference("shop", metav1alpha1.Reference{Kind: metav1alpha1.ConfigMapReference, Name: "charts"})
	if err := settings.SetData(map[string][]byte{"a": []byte("b")}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name           string
		in             input.Inputs
		source, digest string
	}{
		{"no source", input.Inputs{}, "", ""},
		{
			"a source outside the cluster",
			input.Inputs{Declaration: input.Declaration{Source: source, SourceName: "https://example.com/a.tgz"}},
			"https://example.com/a.tgz", "sha",
		},
		{
			"a reference",
			input.Inputs{
				Declaration: input.Declaration{SourceName: "ConfigMap charts"}, References: []input.Reference{settings},
			},
			"ConfigMap charts", settings.ContentDigest(),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			record := revisionRecord(3, 7, c.in, start)
			if record.Source != c.source || record.SourceDigest != c.digest {
				t.Errorf("the history names the source %q with the digest %q", record.Source, record.SourceDigest)
			}
			if record.Revision != 3 || record.Generation != 7 || record.Outcome != metav1alpha1.RevisionProgressing ||
				!record.Started.Time.Equal(start) {
				t.Errorf("the entry of the history is %+v", record)
			}
		})
	}
	long := input.Inputs{Declaration: input.Declaration{SourceName: strings.Repeat("n", 2*status.MaxSource)}}
	if got := revisionRecord(1, 1, long, start).Source; len(got) > status.MaxSource {
		t.Errorf("the name of the source in the history has %d bytes, which is more than status.MaxSource", len(got))
	}
}
