package component

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"

	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
)

// maxResults is how many results of a rendering the condition names.
const maxResults = 10

// results collects what a generator tells about a rendering.
type results struct {
	mu   sync.Mutex
	told []generator.Result
}

func (r *results) add(result generator.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, result)
}

// enter makes the condition say what the generator told last: warnings first. It stays until something else is rendered, also where nothing was
// rendered, because what is kept is all there is to know; then r is nil.
func (r *results) enter(status *metav1alpha1.Status, generation int64, now time.Time) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.told) == 0 {
		meta.RemoveStatusCondition(&status.Conditions, metav1alpha1.ConditionGeneratorResults)
		return
	}
	reason := metav1alpha1.ReasonInformation
	var warnings, rest []string
	for _, result := range r.told {
		if result.Severity == generator.SeverityWarning {
			reason = metav1alpha1.ReasonWarning
			warnings = append(warnings, result.String())
			continue
		}
		rest = append(rest, result.String())
	}
	all := append(warnings, rest...)
	message := strings.Join(all[:min(len(all), maxResults)], "; ")
	if more := len(all) - maxResults; more > 0 {
		message += fmt.Sprintf("; and %d more", more)
	}
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: metav1alpha1.ConditionGeneratorResults, Status: metav1.ConditionTrue, Reason: reason,
		Message: condition.Message(message), ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
	})
}
