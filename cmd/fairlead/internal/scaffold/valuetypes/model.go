package valuetypes

// shape says what a value is.
type shape string

const (
	shapeStruct      shape = "struct"
	shapeMap         shape = "map"
	shapeList        shape = "list"
	shapeString      shape = "string"
	shapeBoolean     shape = "boolean"
	shapeInteger     shape = "integer"
	shapeNumber      shape = "number"
	shapeIntOrString shape = "int-or-string"
	// shapeFree is any value, and shapeFreeObject any object.
	shapeFree       shape = "free"
	shapeFreeObject shape = "free-object"
)

// valueType is the type of a value.
type valueType struct {
	shape shape
	// fields are those of a struct.
	fields []field
	// element is that of a list or a map.
	element *valueType
	// markers are what controller-gen reads, without the plus sign; they hold for the value itself.
	markers []string
}

// field is a value in a struct.
type field struct {
	key      string
	doc      []string
	required bool
	// fallback is the chart's default as text for documentation; empty if the default tells nothing.
	fallback string
	of       *valueType
}

func (t *valueType) isScalar() bool {
	switch t.shape {
	case shapeString, shapeBoolean, shapeInteger, shapeNumber, shapeIntOrString:
		return true
	case shapeStruct, shapeMap, shapeList, shapeFree, shapeFreeObject:
	}
	return false
}

func free() *valueType       { return &valueType{shape: shapeFree} }
func freeObject() *valueType { return &valueType{shape: shapeFreeObject} }
