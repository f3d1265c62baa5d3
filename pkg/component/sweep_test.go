package component

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestSightingsAreCollectedEachSecretThatIsThereOnceInItsLastVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSightings(nil)
		secret := func(name, version string) *metav1.PartialObjectMetadata {
			return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: version}}
		}
		s.See(secret("a", "1"), secret("b", "2"), secret("gone", "3"))
		s.See(secret("a", "4"))
		s.Gone(secret("gone", "5"))
		g := NewWithT(t)
		g.Expect(s.take(t.Context())).To(ConsistOf(secret("a", "4"), secret("b", "2")))

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		g.Expect(s.take(ctx)).To(BeNil())
	})
}

func TestSecretsThatABackupMayHaveBroughtBackAreLeftAloneForAWhile(t *testing.T) {
	started := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	r := NewReconciler[*part]("parts.example.com", nil, Options{})
	r.clock = clocktesting.NewFakePassiveClock(started.Add(90 * time.Minute))
	r.local = &Engine{connection: &connection{started: started}}
	secret := func(name string, came time.Time, deleting bool) *metav1.PartialObjectMetadata {
		m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(came)}}
		if deleting {
			m.DeletionTimestamp = new(metav1.NewTime(came))
		}
		return m
	}
	settled, young := r.byAge([]*metav1.PartialObjectMetadata{
		secret("before the start", started.Add(-time.Minute), false),
		secret("just now", started.Add(89*time.Minute), false),
		secret("just now, and being deleted", started.Add(89*time.Minute), true),
		secret("long ago", started.Add(time.Minute), false),
	})
	g := NewWithT(t)
	g.Expect(young).To(ConsistOf(HaveField("Name", "just now")))
	g.Expect(settled).To(ConsistOf(
		HaveField("Name", "before the start"), HaveField("Name", "just now, and being deleted"), HaveField("Name", "long ago")))
}
