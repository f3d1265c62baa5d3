package discovery

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestPartialFailure(t *testing.T) {
	broken := &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{
		{Group: "a.example.com", Version: "v1"}: errors.New("down"),
	}}
	for _, c := range []struct {
		name, group string
		err         error
		want        string
	}{
		{"nothing fails", "*", nil, ""},
		{"a group that the caller does not need fails", "b.example.com", broken, ""},
		{
			"a group that the caller needs fails", "*.example.com", broken,
			"a.example.com/v1 does not answer (down); make it available; if you delete its APIService, nothing protects what " +
				"its API server stored",
		},
		{
			"discovery fails as a whole", "b.example.com", errors.New("down"),
			"the types that the API server serves cannot be read: down",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			managed := manifests.ManagedType{GroupKind: schema.GroupKind{Group: c.group, Kind: "*"}}
			got := PartialFailure(c.err, managed.MatchesGroup)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
