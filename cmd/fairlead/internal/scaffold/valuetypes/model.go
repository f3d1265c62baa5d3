package valuetypes

// shape is the kind of a type, such as string, list or struct.
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
	// shapeFree allows any value, and shapeFreeObject any object.
	shapeFree       shape = "free"
	shapeFreeObject shape = "free-object"
)

// valueType is the type of a value.
type valueType struct {
	shape shape
	// fields are the fields of a struct.
	fields []field
	// element is the type of the elements of a list or a map.
	element *valueType
	// markers are the markers of controller-gen for the value, without the plus sign.
	markers []string
}

// field is a value in a struct.
type field struct {
	key      string
	doc      []string
	required bool
	// fallback is the chart's default as a text for the description. It is empty if the default is not worth mentioning.
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
