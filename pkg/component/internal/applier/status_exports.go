package applier

import (
	"encoding/json"
	"slices"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// requestedExports returns the values of the exports that a request names, as JSON. Exports without a value are
// missing. Secrets have no values here; see binding.CheckPublished.
func requestedExports(r Request, f plan.Facts) map[string][]byte {
	if len(r.Exports) == 0 {
		return nil
	}
	values := map[string][]byte{}
	for _, o := range r.Desired {
		if o.Key.IsSecret() {
			continue
		}
		for _, e := range o.Settings.Exports() {
			if !slices.Contains(r.Exports, e.Name) {
				continue
			}
			value, reason := exportOf(f, o, e.Name)
			if reason != "" {
				continue
			}
			if data, err := json.Marshal(value); err == nil {
				values[e.Name] = data
			}
		}
	}
	return values
}
