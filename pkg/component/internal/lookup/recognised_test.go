package lookup

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestAComponentRecognisesWhatItReleased(t *testing.T) {
	const released, ownerID = reconciler + "/" + marks.AnnotationReleasedBy, reconciler + "/" + manifests.AnnotationOwnerID
	other := owner
	other.Name = "other"
	for _, c := range []struct {
		name                string
		labels, annotations map[string]string
		controlled          bool
		want                bool
	}{
		{name: "not an object of somebody else"},
		{
			"a dependent",
			map[string]string{reconciler + "/" + manifests.LabelOwnerID: us.ID},
			map[string]string{ownerID: owner.String()},
			false, true,
		},
		{
			"not a copy that somebody made of a dependent",
			map[string]string{reconciler + "/" + manifests.LabelOwnerID: us.ID},
			map[string]string{ownerID: owner.String(), reconciler + "/" + marks.AnnotationObject: "ConfigMap shop/b"},
			false, false,
		},
		{
			"a dependent that names itself",
			map[string]string{reconciler + "/" + manifests.LabelOwnerID: us.ID},
			map[string]string{ownerID: owner.String(), reconciler + "/" + marks.AnnotationObject: "ConfigMap shop/a"},
			false, true,
		},
		{"an object that it released", nil, map[string]string{released: owner.String()}, false, true},
		{
			name:        "not an object that a controller has taken over since",
			annotations: map[string]string{released: owner.String()}, controlled: true,
		},
		{"not an object that another component released", nil, map[string]string{released: other.String()}, false, false},
		{
			"not an object that another component has taken over since",
			map[string]string{reconciler + "/" + manifests.LabelOwnerID: other.ID()},
			map[string]string{ownerID: other.String(), released: owner.String()},
			false, false,
		},
		{
			"not an object that a Helm release has taken over since", nil,
			map[string]string{released: owner.String(), "meta.helm.sh/release-name": "web"},
			false, false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := object("a", "1", "x")
			o.SetLabels(c.labels)
			o.SetAnnotations(c.annotations)
			if c.controlled {
				o.SetOwnerReferences([]metav1.OwnerReference{{Kind: "SealedSecret", Name: "web", UID: "s1", Controller: new(true)}})
			}
			if got := us.Recognises(o); got != c.want {
				t.Errorf("Recognises returns %t, want %t", got, c.want)
			}
		})
	}
}
