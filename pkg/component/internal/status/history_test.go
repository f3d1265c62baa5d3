package status

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func at(minute int) metav1.Time { return metav1.NewTime(time.Unix(int64(60*minute), 0)) }

func revision(number int64, outcome metav1alpha1.RevisionOutcome, reason string, started int,
	ended *metav1.Time,
) metav1alpha1.RevisionRecord {
	return metav1alpha1.RevisionRecord{
		Revision: number, Outcome: outcome, Reason: reason, Started: at(started),
		Ended: ended,
	}
}

func TestHistoryOfARevision(t *testing.T) {
	progressing := revision(1, metav1alpha1.RevisionProgressing, "", 1, nil)
	failed := revision(1, metav1alpha1.RevisionFailed, "DependentFailed", 1, nil)
	ready := revision(1, metav1alpha1.RevisionReady, "", 1, new(at(2)))
	stalls := PassResult{State: metav1alpha1.StateStalled, Reason: "DependentFailed"}
	for _, c := range []struct {
		name   string
		before metav1alpha1.RevisionRecord
		v      PassResult
		want   metav1alpha1.RevisionRecord
	}{
		{"ends when it is ready", progressing, PassResult{State: metav1alpha1.StateReady}, ready},
		{"has failed when it is stalled, but is not over", progressing, stalls, failed},
		{"goes on after a failure", failed, PassResult{State: metav1alpha1.StateProgressing}, progressing},
		{"is ready after a failure", failed, PassResult{State: metav1alpha1.StateReady}, ready},
		{"stays ready whatever comes later", ready, stalls, ready},
		{"is not judged while it is suspended", progressing, PassResult{State: metav1alpha1.StateSuspended}, progressing},
	} {
		t.Run(c.name, func(t *testing.T) {
			history := []metav1alpha1.RevisionRecord{c.before}
			if diff := cmp.Diff([]metav1alpha1.RevisionRecord{c.want}, enterResult(history, c.v, at(2).Time)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]metav1alpha1.RevisionRecord{c.before}, history); diff != "" {
				t.Errorf("the function changed the history that it was given: %s", diff)
			}
		})
	}
}

func TestANewRevisionEndsTheOneBefore(t *testing.T) {
	next := revision(2, metav1alpha1.RevisionProgressing, "", 9, nil)
	for _, c := range []struct {
		name         string
		before, want metav1alpha1.RevisionRecord
	}{
		{
			"that was not ready yet", revision(1, metav1alpha1.RevisionProgressing, "", 1, nil),
			revision(1, metav1alpha1.RevisionSuperseded, "", 1, new(at(9))),
		},
		{
			"that failed, and says why", revision(1, metav1alpha1.RevisionFailed, "Timeout", 1, nil),
			revision(1, metav1alpha1.RevisionFailed, "Timeout", 1, new(at(9))),
		},
		{
			"unless it is over", revision(1, metav1alpha1.RevisionReady, "", 1, new(at(2))),
			revision(1, metav1alpha1.RevisionReady, "", 1, new(at(2))),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := BeginRevision([]metav1alpha1.RevisionRecord{c.before}, next)
			if diff := cmp.Diff([]metav1alpha1.RevisionRecord{next, c.want}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func attempt(digest, reason string, started int) metav1alpha1.RevisionRecord {
	r := revision(0, metav1alpha1.RevisionFailed, reason, started, nil)
	r.Digest = digest
	return r
}

func TestHistoryOfInputsThatDoNotRender(t *testing.T) {
	ready := revision(1, metav1alpha1.RevisionReady, "", 1, new(at(2)))
	broken := attempt("b", "GenerateFailed", 3)
	over := broken
	over.Ended = new(at(5))
	for _, c := range []struct {
		name   string
		before []metav1alpha1.RevisionRecord
		next   metav1alpha1.RevisionRecord
		want   []metav1alpha1.RevisionRecord
	}{
		{"begins with the first of them", nil, broken, []metav1alpha1.RevisionRecord{broken}},
		{
			"leaves the revision before as it is",
			[]metav1alpha1.RevisionRecord{ready},
			broken,
			[]metav1alpha1.RevisionRecord{broken, ready},
		},
		{
			"tells of them once, however often they are tried",
			[]metav1alpha1.RevisionRecord{broken, ready},
			attempt("b", "GenerateFailed", 9),
			[]metav1alpha1.RevisionRecord{broken, ready},
		},
		{
			"says why they do not render now",
			[]metav1alpha1.RevisionRecord{broken, ready},
			attempt("b", "InvalidManifests", 9),
			[]metav1alpha1.RevisionRecord{attempt("b", "InvalidManifests", 3), ready},
		},
		{
			"tells of others, too",
			[]metav1alpha1.RevisionRecord{broken, ready},
			attempt("c", "GenerateFailed", 9),
			[]metav1alpha1.RevisionRecord{attempt("c", "GenerateFailed", 9), broken, ready},
		},
		{
			"tells of them again, where the revision before was back meanwhile",
			EndAttempt([]metav1alpha1.RevisionRecord{broken, ready}, at(5).Time), attempt("b", "GenerateFailed", 9),
			[]metav1alpha1.RevisionRecord{attempt("b", "GenerateFailed", 9), over, ready},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, AddAttempt(c.before, c.next)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestARevisionAfterInputsThatDidNotRender(t *testing.T) {
	broken, progressing := attempt("b", "GenerateFailed", 3), revision(1, metav1alpha1.RevisionProgressing, "", 1, nil)
	next := revision(2, metav1alpha1.RevisionProgressing, "", 9, nil)
	superseded := revision(1, metav1alpha1.RevisionSuperseded, "", 1, new(at(9)))
	got := BeginRevision([]metav1alpha1.RevisionRecord{broken, progressing}, next)
	if diff := cmp.Diff([]metav1alpha1.RevisionRecord{next, broken, superseded}, got); diff != "" {
		t.Errorf("a revision with other inputs than the attempt: %s", diff)
	}
	next.Digest = broken.Digest
	got = BeginRevision([]metav1alpha1.RevisionRecord{broken, progressing}, next)
	if diff := cmp.Diff([]metav1alpha1.RevisionRecord{next, superseded}, got); diff != "" {
		t.Errorf("a revision with the inputs of the attempt: %s", diff)
	}
	over := attempt("b", "GenerateFailed", 3)
	over.Ended = new(at(5))
	got = BeginRevision([]metav1alpha1.RevisionRecord{over, progressing}, next)
	if diff := cmp.Diff([]metav1alpha1.RevisionRecord{next, over, superseded}, got); diff != "" {
		t.Errorf("a revision with the inputs of an attempt that has ended: %s", diff)
	}
	judgedNow := enterResult([]metav1alpha1.RevisionRecord{broken, progressing}, PassResult{State: metav1alpha1.StateReady},
		at(5).Time)
	ready := revision(1, metav1alpha1.RevisionReady, "", 1, new(at(5)))
	if diff := cmp.Diff([]metav1alpha1.RevisionRecord{broken, ready}, judgedNow); diff != "" {
		t.Errorf("a result of the revision before the attempt: %s", diff)
	}
}

func TestARevisionThatIsBackEndsTheAttemptAfterIt(t *testing.T) {
	progressing, ready := revision(1, metav1alpha1.RevisionProgressing, "", 1, nil), revision(1,
		metav1alpha1.RevisionReady, "", 1, new(at(2)))
	broken := attempt("b", "GenerateFailed", 3)
	over := broken
	over.Ended = new(at(5))
	for _, c := range []struct {
		name         string
		minute       int
		before, want []metav1alpha1.RevisionRecord
	}{
		{"once", 5, []metav1alpha1.RevisionRecord{broken, ready}, []metav1alpha1.RevisionRecord{over, ready}},
		{"and no other time", 7, []metav1alpha1.RevisionRecord{over, ready}, []metav1alpha1.RevisionRecord{over, ready}},
		{"and no revision", 5, []metav1alpha1.RevisionRecord{progressing}, []metav1alpha1.RevisionRecord{progressing}},
		{"where there is one", 5, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, EndAttempt(c.before, at(c.minute).Time)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInputsThatDoNotRenderMakeRoomFirst(t *testing.T) {
	history := []metav1alpha1.RevisionRecord{revision(1, metav1alpha1.RevisionReady, "", 1, new(at(2)))}
	for n := range 20 {
		history = AddAttempt(history, attempt(string(rune('a'+n)), "GenerateFailed", n))
	}
	if len(history) != 10 || history[0].Digest != "t" || history[9].Revision != 1 {
		t.Errorf("want the last attempts and the revision before them in the history, got %v", history)
	}
	for number := range int64(10) {
		history = BeginRevision(history, revision(number+2, metav1alpha1.RevisionProgressing, "", int(number), nil))
	}
	if len(history) != 10 || history[0].Revision != 11 || history[9].Revision != 2 {
		t.Errorf("want the revisions 11 to 2 in the history, got %v", history)
	}
	history = AddAttempt(history, attempt("x", "GenerateFailed", 30))
	if len(history) != 10 || history[0].Digest != "x" || history[9].Revision != 3 {
		t.Errorf("want the failed attempt and the revisions 11 to 3 in the history, got %v", history)
	}
}

func TestHistoryIsBounded(t *testing.T) {
	var history []metav1alpha1.RevisionRecord
	for number := range int64(25) {
		history = BeginRevision(history, revision(number+1, metav1alpha1.RevisionProgressing, "", int(number), nil))
	}
	if len(history) != 10 || history[0].Revision != 25 || history[9].Revision != 16 {
		t.Errorf("want the revisions 25 to 16 in the history, got %v", history)
	}
}

func TestHistoryNamesTheFirstAdoptedObjectsAndCountsAll(t *testing.T) {
	var changes []result.Change
	for number := range 12 {
		key := manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprint("settings-", number)}
		changes = append(changes, result.Change{Verb: "Adopt", Key: key, From: "the Helm release shop/web"})
	}
	changes = append(changes, result.Change{Verb: "Create", Key: manifests.Key{Kind: "ConfigMap", Name: "new"}})
	before := []metav1alpha1.RevisionRecord{
		attempt("b", "GenerateFailed", 2), revision(1, metav1alpha1.RevisionReady, "", 1, new(at(1))),
	}
	after := enterAdoptions(enterAdoptions(before, changes[:3]), changes[3:])
	if len(before[1].Adopted) > 0 || len(after[0].Adopted) > 0 {
		t.Errorf("want the objects in a copy of the latest revision, got %+v and %+v", before, after)
	}
	latest := after[1]
	if len(latest.Adopted) != 10 || latest.AdoptedCount != 12 ||
		latest.Adopted[0] != "ConfigMap shop/settings-0 from the Helm release shop/web" {
		t.Errorf("the latest revision has %d adopted objects: %v", latest.AdoptedCount, latest.Adopted)
	}
	if none := enterAdoptions(nil, changes); none != nil {
		t.Errorf("a history without revisions got %v", none)
	}
}
