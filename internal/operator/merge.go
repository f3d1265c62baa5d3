package operator

import "maps"

// merge returns base with over on top, and changes neither: maps are merged, everything else is replaced. A null stays a value, for it
// is how Helm is told to drop a default of the chart.
func merge(base, over map[string]any) map[string]any {
	merged := maps.Clone(base)
	if merged == nil {
		merged = make(map[string]any, len(over))
	}
	for key, value := range over {
		below, isMap := merged[key].(map[string]any)
		above, mergeable := value.(map[string]any)
		if isMap && mergeable {
			merged[key] = merge(below, above)
			continue
		}
		merged[key] = value
	}
	return merged
}
