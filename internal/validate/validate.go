package validate

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/fairlead-io/fairlead/internal/validate/values"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Subject is a manifest that is about to be written.
type Subject struct {
	// Object is the manifest, with its body.
	Object manifests.Object
	// Types is the schema of its type; nil if it is not known.
	Types managedfields.TypeConverter
	// Values checks the values of its fields; nil if they are not known.
	Values *values.Type
	// Defined is set if Types come from a definition that is applied before the object. Then this definition decides, and
	// each fault is certain.
	Defined bool
	// Unserved is set if such a definition does not serve the version of the object.
	Unserved bool
	// UnknownType is set if nothing is known about the type. Its API server may accept any name that is a part of a path.
	UnknownType bool
	// Exists is set if the object exists and is updated. Recorded is then the hash of its immutable fields at the last
	// write; zero if it is not known, or if the object may be created again.
	Exists   bool
	Recorded uint32
	// DropsUnknown is set if the write is no server-side apply. It drops fields that the type does not have, and accepts
	// duplicate items of lists.
	DropsUnknown bool
}

// Fault is a reason for which the API server probably refuses a manifest.
type Fault struct {
	// Field is the path of the field; empty for the object as a whole. Message says what is wrong with it, and contains no
	// value of a Secret.
	Field, Message string
	// Certain is set if the object cannot exist with this fault, so that no dry run is needed. There may be no place at
	// which the API server could be asked, for example without the namespace.
	Certain bool
	// OfSchema is set if the fault follows from a schema that the API server may have changed. OfValue is set if the fault
	// is a value, which an API server checks after the fields and the kinds of values.
	OfSchema, OfValue bool
	// Immutable is set if the fault is a changed field that cannot change.
	Immutable bool
}

// String returns the field and the message.
func (f Fault) String() string {
	if f.Field == "" {
		return f.Message
	}
	return f.Field + ": " + f.Message
}

// maxFaults is the maximum number of faults of an object, and of its fields that are dropped.
const maxFaults = 20

// Check returns the faults of a manifest, none if it is probably accepted, and the paths of those fields that the API
// server probably drops without an error, because the type does not have them.
func Check(s Subject) (faults []Fault, dropped []string) {
	faults = append(faults, checkKind(s)...)
	faults = append(faults, checkNames(s)...)
	faults = append(faults, checkMetadata(s.Object)...)
	faults = append(faults, checkData(s.Object)...)
	faults = append(faults, checkService(s.Object)...)
	if s.Unserved {
		message := fmt.Sprintf("the definition of %s, which is applied with it, does not serve the version %s",
			s.Object.Key.GroupKind(), s.Object.Version)
		faults = append(faults, Fault{Field: "apiVersion", Message: message, Certain: true})
	}
	types, dropped := checkTypes(s)
	faults = append(faults, types...)
	faults = append(faults, checkValues(s, types)...)
	if len(types) == 0 {
		faults = append(faults, checkDecoding(s.Object)...)
	}
	if s.Exists && s.Recorded != 0 && s.Object.Immutable != s.Recorded {
		faults = append(faults, Fault{Message: "a field that cannot change has another value", Immutable: true})
	}
	for i := range faults {
		faults[i].Certain = faults[i].Certain || s.Defined
	}
	// The limit of the size depends on the API server, whatever the definition of the type is.
	faults = append(faults, checkSize(s.Object)...)
	return faults[:min(len(faults), maxFaults)], dropped[:min(len(dropped), maxFaults)]
}
