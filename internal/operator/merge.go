package operator

import "maps"

// merge returns the values of base and over, of which over has precedence, and changes neither. Maps are merged, and
// other values are replaced. Null values are kept, because with a null, Helm removes a default of the chart.
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
