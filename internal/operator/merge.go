package operator

import "maps"

// merge returns base overlaid with over, and changes neither: maps are merged, other values are replaced. A null stays
// a value, because it makes Helm drop a default of the chart.
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
