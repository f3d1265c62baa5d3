package plan

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// advice says what to do about a field that cannot change, where the object is updated in place.
func (c candidate) advice() string {
	if c.holder() || c.policy == metav1alpha1.UpdateRecreate {
		return "keep it, or delete the object first"
	}
	return "keep it, set the update policy recreate, or delete the object first"
}

// ruleKept handles the removal of a value that cannot change. The API server answers with success, and keeps it: a headless Service stays
// headless, and nobody would be told.
func ruleKept(c candidate) (decision, bool) {
	if !c.changed() || c.policy == metav1alpha1.UpdateRecreate || len(c.live.Kept) == 0 {
		return decision{}, false
	}
	whole, err := c.object.Whole()
	if err != nil {
		return c.fail(Failure{Class: Transient, Reason: WaitUnreadable, Message: err.Error()}), true
	}
	if kind, _, _ := unstructured.NestedString(whole.Body.Object, "spec", "type"); kind == "ExternalName" {
		// Such a Service has no address, and loses the one that it had.
		return decision{}, false
	}
	for _, field := range c.live.Kept {
		if _, named, _ := unstructured.NestedFieldNoCopy(whole.Body.Object, strings.Split(field, ".")...); !named {
			return c.fail(Failure{
				Class: Terminal, Reason: WaitImmutable,
				Message: fmt.Sprintf("%s is dropped from the manifest, but the API server would keep it: the field cannot change (%s)", field, c.advice()),
			}), true
		}
	}
	return decision{}, false
}
