package rendering

// CopyValues returns a deep copy of plain data, because templates can change their input. Integers are converted with
// number, unless number is nil.
func CopyValues(values map[string]any, number func(int64) any) map[string]any {
	copied := make(map[string]any, len(values))
	for key, value := range values {
		copied[key] = copyValue(value, number)
	}
	return copied
}

func copyValue(value any, number func(int64) any) any {
	switch value := value.(type) {
	case map[string]any:
		return CopyValues(value, number)
	case []any:
		copied := make([]any, len(value))
		for i, element := range value {
			copied[i] = copyValue(element, number)
		}
		return copied
	case int:
		return copyValue(int64(value), number)
	case int64:
		if number != nil {
			return number(value)
		}
		return value
	default:
		return value
	}
}
