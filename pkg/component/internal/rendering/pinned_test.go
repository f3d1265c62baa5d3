package rendering

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// random sets a generator that renders another value into the ConfigMap a at each call, and the looked-up value into
// the ConfigMap b.
func (s *scene) random() {
	n := 0
	s.generate = func(ctx context.Context, req generator.Request) ([]client.Object, error) {
		n++
		value, err := lookUp(ctx, req.Target)
		return []client.Object{settings("a", fmt.Sprintf("random-%d", n)), settings("b", value)}, client.IgnoreNotFound(err)
	}
}

func TestRandomValuesArePinnedUntilTheInputsChange(t *testing.T) {
	s := newScene(t)
	s.random()
	if value, calls := s.apply(); value != "random-1" || calls != 2 {
		t.Fatalf("the first rendering has the value %q after %d calls of the generator, want random-1 after 2", value, calls)
	}
	first := s.component.status.RenderedSet
	if first == "" {
		t.Fatal("the status does not name a Secret of the pinned rendering")
	}
	set, _, err := s.render()
	if err != nil || !strings.Contains(set.Note, "ConfigMap a") && !strings.Contains(set.Note, "data.value") {
		t.Errorf("the message about generated values names no object or field: %q, %v", set.Note, err)
	}
	s.restart()
	if value, calls := s.apply(); value != "random-1" || calls != 0 {
		t.Errorf("after a restart the rendering has the value %q after %d calls of the generator, want random-1 after none",
			value, calls)
	}
	s.request.Inputs.Digest = "others"
	if value, _ := s.apply(); value != "random-3" || s.component.status.RenderedSet == first {
		t.Errorf("after new inputs, want a new value, got %q", value)
	}
}

func TestAPinnedRenderingFollowsItsLookups(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		t.Run(fmt.Sprintf("restarted: %t", restarted), func(t *testing.T) {
			s := newScene(t)
			woken := make(chan struct{}, 100)
			s.options.Wake = func(types.NamespacedName) { woken <- struct{}{} }
			s.restart()
			s.random()
			s.apply()
			first := s.component.status.RenderedSet
			s.put("1")
			s.clock.SetTime(s.clock.Now().Add(time.Minute))
			if restarted {
				s.restart()
			} else {
				<-woken
			}
			if value, calls := s.apply(); value != "random-1" || calls != 2 {
				t.Errorf("the rendering has the value %q after %d calls of the generator, want random-1 after 2", value, calls)
			}
			if s.component.status.RenderedSet == first {
				t.Error("the merged rendering has the id of the previous pinned rendering")
			}
		})
	}
}

func TestARenderingThatAnotherOperatorRecordedIsUsed(t *testing.T) {
	s := newScene(t)
	s.random()
	s.apply()
	s.request.Inputs.Digest = "others"
	if ours, _, err := s.render(); err != nil || s.valueOf(ours) != "random-3" {
		t.Fatalf("the rendering of new inputs has the value %q, with the error %v", s.valueOf(ours), err)
	}
	s.clock.SetTime(s.clock.Now().Add(time.Second))
	theirs, err := New(s.options).Render(t.Context(), s.request)
	if err != nil || s.valueOf(theirs) != "random-5" {
		t.Fatalf("the rendering of the other operator has the value %q, with the error %v", s.valueOf(theirs), err)
	}
	status := &s.component.status
	if _, found := s.renderer.Last(s.request.name(), status, ""); found {
		t.Error("the cached set of new inputs was returned for the recorded inputs")
	}
	status.InputDigest = "others"
	if _, found := s.renderer.Last(s.request.name(), status, ""); !found {
		t.Error("the cached set was not returned, although the status names the rendering that the set replaces")
	}
	s.record(theirs)
	s.request.Records.SetID(records.Rendering, "ours")
	status.RenderedSet = theirs.ID
	if status.Lookups, status.LookupsDigest, err = theirs.Lookups.Lines(); err != nil {
		t.Fatal(err)
	}
	if _, found := s.renderer.Last(s.request.name(), status, ""); found {
		t.Error("the cached set was returned, although another operator stored another one")
	}
	set, calls, err := s.render()
	if err != nil || calls != 0 || set.ID != theirs.ID || s.valueOf(set) != "random-5" {
		t.Errorf("the rendering has the value %q after %d calls of the generator, with the error %v; want random-5 after none",
			s.valueOf(set), calls, err)
	}
	naming := records.Naming{Owner: owner, Kind: records.Rendering, ID: theirs.ID}
	err = s.store.Remover.DeleteUnnamed(t.Context(), s.request.Records, naming)
	if err != nil || len(s.secrets.Secrets) != 1 {
		t.Errorf("the other records were not looked for: %d records remain, with the error %v", len(s.secrets.Secrets), err)
	}
}

// Two operators render a new component. The other one has named its first record, and has not written it yet.
func TestTheCachedValuesAreUsedIfAnotherOperatorHasNotWrittenItsRecord(t *testing.T) {
	s := newScene(t)
	s.random()
	ours, _, err := s.render()
	if err != nil || s.valueOf(ours) != "random-1" {
		t.Fatalf("the first rendering has the value %q, with the error %v", s.valueOf(ours), err)
	}
	status := &s.component.status
	status.InputDigest, status.Revision, status.RenderedSet = s.request.Inputs.Digest, 1, "theirs"
	for range 2 {
		set, _, err := s.render()
		if err != nil || set.Lost != "" || set.ValuesLost || set.ID != ours.ID || s.valueOf(set) != "random-1" {
			t.Errorf("the rendering has the value %q and is lost: %q, %t; error %v", s.valueOf(set), set.Lost, set.ValuesLost, err)
		}
	}
	s.restart()
	if set, _, err := s.render(); err != nil || set.Lost == "" || !set.ValuesLost {
		t.Errorf("after a restart, the lost record is not reported: %q, %t; error %v", set.Lost, set.ValuesLost, err)
	}
}

func TestACachedSetWithoutGeneratedValuesReplacesNoLostRecord(t *testing.T) {
	s := newScene(t)
	if set, _, err := s.render(); err != nil || set.ID != "" {
		t.Fatalf("the first rendering has the id %q, with the error %v", set.ID, err)
	}
	status := &s.component.status
	status.InputDigest, status.Revision, status.RenderedSet = s.request.Inputs.Digest, 1, "theirs"
	s.random()
	if set, _, err := s.render(); err != nil || set.Lost == "" || !set.ValuesLost {
		t.Errorf("the lost record is not reported: %q, %t; error %v", set.Lost, set.ValuesLost, err)
	}
}

func TestARenderingThatCouldNotBeRecordedIsUsedAgain(t *testing.T) {
	s := newScene(t)
	s.random()
	s.apply()
	s.put("1")
	s.clock.SetTime(s.clock.Now().Add(time.Minute))
	s.restart()
	merged, calls, err := s.render()
	if err != nil || calls != 2 || merged.ID == s.component.status.RenderedSet {
		t.Fatalf("after a changed look-up, the generator was called %d times, with the error %v", calls, err)
	}
	// The record of the merged rendering could not be written, so the status still names the previous one.
	if again, calls, err := s.render(); err != nil || calls != 0 || again.ID != merged.ID {
		t.Errorf("the next pass called the generator %d times, with the error %v; want the same rendering", calls, err)
	}
	// Somebody deleted the status and all records.
	s.component.status = metav1alpha1.Status{}
	clear(s.secrets.Secrets)
	if again, calls, err := s.render(); err != nil || calls != 0 || s.valueOf(again) != "random-1" {
		t.Errorf("after the loss of the status, the rendering has the value %q after %d calls of the generator, with the "+
			"error %v; want random-1 after none", s.valueOf(again), calls, err)
	}
}

func TestNewRandomValuesAfterALookupAreNotFollowed(t *testing.T) {
	s := newScene(t)
	n := 0
	s.generate = func(ctx context.Context, req generator.Request) ([]client.Object, error) {
		n++
		value, err := lookUp(ctx, req.Target)
		objects := []client.Object{settings("a", fmt.Sprintf("random-%d", n))}
		if value != "" {
			objects = append(objects, settings("b", fmt.Sprintf("random-%d", n)))
		}
		return objects, client.IgnoreNotFound(err)
	}
	s.apply()
	first := s.component.status.RenderedSet
	s.put("1")
	s.restart()
	set, _, err := s.render()
	if err != nil || len(set.Objects) != 1 || s.valueOf(set) != "random-1" || set.ID != first {
		t.Errorf("the pinned rendering has %d objects, with the error %v; want its one object", len(set.Objects), err)
	}
	if !strings.HasSuffix(set.Note, notFollowed) {
		t.Errorf("the message about generated values is %q, want a hint that the looked-up objects have changed", set.Note)
	}
}

func TestALostRecordIsRenderedAgainAndReported(t *testing.T) {
	s := newScene(t)
	s.random()
	s.apply()
	clear(s.secrets.Secrets)
	s.restart()
	set, _, err := s.render()
	if err != nil || !set.ValuesLost || set.Lost == "" || s.valueOf(set) == "random-1" {
		t.Errorf("the pinned rendering was deleted: ValuesLost is %t, Lost is %q, error %v", set.ValuesLost, set.Lost, err)
	}
	if again, _, err := s.render(); err != nil || again.Lost != "" || !again.ValuesLost {
		t.Errorf("the loss of the pinned rendering is reported again: %q, %v", again.Lost, err)
	}
	s.restart()
	s.generate = func(context.Context, generator.Request) ([]client.Object, error) { return nil, errors.New("oh") }
	if set, _, err := s.render(); err == nil || set.Lost == "" {
		t.Errorf("the loss of the pinned rendering is not reported together with an error: %q, %v", set.Lost, err)
	}
}

func TestARecordOfOtherInputsCountsAsLost(t *testing.T) {
	s := newScene(t)
	s.random()
	s.apply()
	s.restart()
	// The deletion of the previous record has failed, and the status names this record together with the new inputs.
	s.request.Inputs.Digest, s.component.status.InputDigest = "others", "others"
	set, _, err := s.render()
	if err != nil || !set.ValuesLost || set.Lost != "" || s.valueOf(set) == "random-1" {
		t.Errorf("the pinned rendering was deleted: ValuesLost is %t, Lost is %q, error %v", set.ValuesLost, set.Lost, err)
	}
}

func TestARecordThatCannotBeReadIsAnError(t *testing.T) {
	s := newScene(t)
	s.random()
	s.apply()
	s.restart()
	s.secrets.Refuse = func(string, string) error {
		cause := errors.New(`User "operator" cannot get resource "secrets" in API group "" in the namespace "shop"`)
		return apierrors.NewForbidden(corev1.Resource("secrets"), "", cause)
	}
	_, calls, err := s.render()
	expect(t, err, metav1alpha1.ReasonForbidden, true, "read the record of the rendered manifests")
	if calls != 0 {
		t.Error("the generator was called although the pinned rendering could not be read")
	}
}

func TestRenderingsThatDifferInMoreThanValuesAreRefused(t *testing.T) {
	s := newScene(t)
	n := 0
	s.generate = func(context.Context, generator.Request) ([]client.Object, error) {
		var objects []client.Object
		for i := range 12 {
			n++
			objects = append(objects, settings(fmt.Sprintf("object-%d-%d", i, n), "1"))
		}
		return objects, nil
	}
	_, _, err := s.render()
	expect(t, err, metav1alpha1.ReasonNonDeterministic, true,
		"two renderings of the same inputs differ in more than values")
	expect(t, err, metav1alpha1.ReasonNonDeterministic, true, "more; nothing is applied")
	s.generate = func(_ context.Context, req generator.Request) ([]client.Object, error) {
		objects := []client.Object{settings("a", "1")}
		if req.Now.After(s.clock.Now()) {
			objects = append(objects, settings("a", "2"))
		}
		return objects, nil
	}
	if _, _, err = s.render(); err == nil {
		t.Error("an object that is rendered twice later is accepted")
	}
}

func TestATimeInAManifestIsPinned(t *testing.T) {
	s := newScene(t)
	s.generate = func(_ context.Context, req generator.Request) ([]client.Object, error) {
		return []client.Object{settings("a", req.Now.Format("2006-01-02"))}, nil
	}
	if value, _ := s.apply(); value != "2026-01-02" || s.component.status.RenderedSet == "" {
		t.Errorf("got %q", value)
	}
}
