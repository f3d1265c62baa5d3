package status

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

func TestResultsOfAGeneratorBecomeACondition(t *testing.T) {
	warning := generator.Result{
		Severity: generator.SeverityWarning, Message: "deprecated", Object: "Shop a",
		Field: "spec.x",
	}
	info := generator.Result{Severity: generator.SeverityInfo, Message: "two\nlines"}
	var many []generator.Result
	for i := range 12 {
		many = append(many, generator.Result{Severity: generator.SeverityInfo, Message: fmt.Sprint(i)})
	}
	for name, c := range map[string]struct {
		told []generator.Result
		want string
	}{
		"nothing":     {nil, ""},
		"information": {[]generator.Result{info}, "Information: two; lines"},
		"a warning comes first": {
			[]generator.Result{info, warning},
			"Warning: Shop a: spec.x: deprecated; two; lines",
		},
		"ten are named": {many, "Information: 0; 1; 2; 3; 4; 5; 6; 7; 8; 9; and 2 more"},
		"what is long is cut": {
			[]generator.Result{{Message: strings.Repeat("x", 5000)}},
			"Information: " + strings.Repeat("x", 4096-len(" …")) + " …",
		},
		"a result of no known severity": {[]generator.Result{{Message: "a"}}, "Information: a"},
	} {
		t.Run(name, func(t *testing.T) {
			status := &metav1alpha1.Status{}
			meta.SetStatusCondition(&status.Conditions, metav1.Condition{
				Type:   metav1alpha1.ConditionGeneratorResults,
				Status: metav1.ConditionTrue, Reason: "Before",
			})
			next := WithGeneratorResults(*status, c.told, 3, time.Unix(1, 0))
			got := ""
			if found := meta.FindStatusCondition(next.Conditions, metav1alpha1.ConditionGeneratorResults); found != nil {
				got = found.Reason + ": " + found.Message
			}
			if got != c.want {
				t.Errorf("want %q, got %q", c.want, got)
			}
		})
	}
}
