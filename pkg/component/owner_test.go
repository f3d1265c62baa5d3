package component

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

func TestARecordTellsTheClusterOfTheComponentThatItWasMadeForAlone(t *testing.T) {
	for name, test := range map[string]struct {
		identity string
		uid      types.UID
		want     string
	}{
		"its own":                         {identity: identityText("cluster", "a"), uid: "a", want: "cluster"},
		"of an object that was restored":  {identity: identityText("cluster", "a"), uid: "b"},
		"none yet":                        {uid: "a"},
		"of a component without a UID":    {identity: "cluster/"},
		"with the name of another owner":  {identity: "cluster/fairlead.io/group/Kind/a", uid: "a"},
		"that was cut off":                {identity: "cluster", uid: "a"},
		"without a cluster, so not known": {identity: "/a", uid: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			got := recordedCluster(&metav1alpha1.Status{Identity: test.identity}, test.uid)
			NewWithT(t).Expect(got).To(Equal(test.want))
		})
	}
}
