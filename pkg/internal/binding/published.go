package binding

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// MaxPublishedNames is the maximum number of exports that a component publishes in its status.
const MaxPublishedNames = 64

// CheckPublished returns the joined errors for names of exports that a component cannot publish in its status: too many
// names, names that no object of the set exports, and exports of Secrets.
func CheckPublished(names []string, objects []manifests.Object) error {
	if len(names) == 0 {
		return nil
	}
	exporters := map[string]manifests.Key{}
	for i := range objects {
		for _, e := range objects[i].Settings.Exports() {
			exporters[e.Name] = objects[i].Key
		}
	}
	var errs []error
	if len(names) > MaxPublishedNames {
		errs = append(errs, fmt.Errorf("the component publishes %d exports, more than %d", len(names), MaxPublishedNames))
	}
	for _, name := range names[:min(len(names), MaxPublishedNames)] {
		key, known := exporters[name]
		switch {
		case !known:
			errs = append(errs, fmt.Errorf(
				"the component publishes the export %.80q, but none of its manifests exports it%s", name, knownExports(exporters),
			))
		case key.IsSecret():
			errs = append(errs, fmt.Errorf(
				"the component publishes the export %s of %s, but values of Secrets are never published", name, key,
			))
		}
	}
	return errors.Join(errs...)
}

// knownExports returns the names of the exports of a set, for a message.
func knownExports(exporters map[string]manifests.Key) string {
	names := slices.Sorted(maps.Keys(exporters))
	if len(names) == 0 {
		return ""
	}
	return "; the exports are " + strings.Join(names[:min(len(names), maxNamed)], ", ")
}
