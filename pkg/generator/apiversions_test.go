package generator_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

func TestAPIVersionsRecordWhatIsAskedFor(t *testing.T) {
	var asked []string
	served := generator.NewAPIVersions("v1", "apps/v1", "v1")
	recorded := served.OnAsk(func(version string) { asked = append(asked, version) })
	if !recorded.Has("apps/v1") || recorded.Has("apps/v2") || recorded.Has("") || recorded.IsEmpty() {
		t.Error("Has or IsEmpty returns a wrong result")
	}
	if want := []string{"apps/v1", "apps/v2"}; !slices.Equal(asked, want) {
		t.Errorf("got the questions %q, want %q", asked, want)
	}
	if all := recorded.All(); !slices.Equal(all, []string{"apps/v1", "v1"}) || asked[len(asked)-1] != "" {
		t.Errorf("got the versions %q and the questions %q, want a last question for all versions", all, asked)
	}
	if served.Has("v1"); len(asked) != 3 {
		t.Error("the original versions call the recorder")
	}
	if text, err := json.Marshal(served); err != nil || string(text) != `["apps/v1","v1"]` {
		t.Errorf("got the JSON text %s and the error %v", text, err)
	}
	if !served.Equal(recorded) || served.Equal(generator.NewAPIVersions("v1")) {
		t.Error("Equal returns a wrong result")
	}
	if !(generator.APIVersions{}).IsEmpty() || (generator.APIVersions{}).Has("v1") {
		t.Error("the zero value has a version")
	}
}

func ExampleNewAPIVersions() {
	req := generator.Request{Capabilities: generator.Capabilities{
		APIVersions: generator.NewAPIVersions("v1", "v1/Pod", "policy/v1/PodDisruptionBudget"),
	}}
	fmt.Println(req.Capabilities.APIVersions.Has("policy/v1/PodDisruptionBudget"))
	fmt.Println(req.Capabilities.APIVersions.All())
	// Output:
	// true
	// [policy/v1/PodDisruptionBudget v1 v1/Pod]
}
