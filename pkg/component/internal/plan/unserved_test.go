package plan

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestUnserved(t *testing.T) {
	const uid types.UID = "0123456789"
	state := func(number int64) string { return UnservedState(uid, number) }
	definition := manifests.Key{Group: CustomResourceDefinition.Group, Kind: CustomResourceDefinition.Kind, Name: "d"}
	service := manifests.Key{Group: APIService.Group, Kind: APIService.Kind, Name: "s"}
	for _, c := range []struct {
		name           string
		key            manifests.Key
		recorded, live string
		generation     int64
		verb           Verb
		want           string
	}{
		{"an API that the component creates has served no version", service, "", state(0), 1, VerbCreate, state(0)},
		{"an adopted API may have served a version before", service, "", state(0), 1, VerbApply, ""},
		{"an API that was never available keeps its recorded state", service, state(0), state(0), 1, "", state(0)},
		{"an available API has served a version", service, state(0), "", 1, "", ""},
		{"an API that became unavailable again has served a version in between", service, state(0), state(7), 1, "", ""},
		{
			"a definition of generation 1 without a served version has never served a version",
			definition, "", state(1), 1, "", state(1),
		},
		{
			"a definition that only the component changed has served no version in between",
			definition, state(1), state(2), 2, VerbApply, state(2),
		},
		{"a definition that another client changed may have served a version", definition, state(1), state(2), 2, "", ""},
		{
			"a definition that the component changes after another client may have served a version",
			definition, state(1), state(3), 3, VerbApply, "",
		},
		{"another object of the same name does not have the recorded state", definition, "abcdefgh.2", state(2), 2, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			live := Observed{Presence: Present, UID: uid, Generation: c.generation, Unserved: c.live}
			subject := candidate{
				object: &manifests.Object{Key: c.key}, entry: metav1alpha1.InventoryEntry{Unserved: c.recorded}, live: live,
			}
			if c.verb != "" {
				subject.result = Result{Verb: c.verb, Observed: &live}
			}
			if got := subject.unserved(); got != c.want {
				t.Errorf("unserved returned the versions %q", got)
			}
		})
	}
	t.Run("an object that is not observed keeps its record", func(t *testing.T) {
		c := candidate{entry: metav1alpha1.InventoryEntry{Unserved: state(0)}, live: NotObserved()}
		if c.unserved() != state(0) {
			t.Error("an entry whose object is not observed lost its record of versions that were never served")
		}
	})
}
