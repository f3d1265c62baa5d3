package lookup

import (
	"testing"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestAComponentRecognisesWhatItReleased(t *testing.T) {
	const released, ownerID = reconciler + "/" + manifests.AnnotationReleasedBy, reconciler + "/" + manifests.AnnotationOwnerID
	other := owner
	other.Name = "other"
	for _, c := range []struct {
		name                string
		labels, annotations map[string]string
		want                bool
	}{
		{"not an object of somebody else", nil, nil, false},
		{
			"a dependent",
			map[string]string{reconciler + "/" + manifests.LabelOwnerID: us.ID},
			map[string]string{ownerID: owner.String()},
			true,
		},
		{"an object that it released", nil, map[string]string{released: owner.String()}, true},
		{"not an object that another component released", nil, map[string]string{released: other.String()}, false},
		{
			"not an object that another component has taken over since",
			map[string]string{reconciler + "/" + manifests.LabelOwnerID: other.ID()},
			map[string]string{ownerID: other.String(), released: owner.String()},
			false,
		},
		{
			"not an object that a Helm release has taken over since", nil,
			map[string]string{released: owner.String(), "meta.helm.sh/release-name": "web"},
			false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := object("a", "1", "x")
			o.SetLabels(c.labels)
			o.SetAnnotations(c.annotations)
			if got := us.Recognises(o); got != c.want {
				t.Errorf("Recognises returns %t, want %t", got, c.want)
			}
		})
	}
}
