package component

import (
	"context"
	"testing"
	"testing/synctest"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
