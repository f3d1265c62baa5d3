package templating

import (
	"reflect"
	"regexp"
	"slices"
	"text/template"
)

// Repeatable reports whether every rendering of the same input has the same output, also at another time and as a
// trial: the templates called none of the varying functions and no function of an author, did not read the clock, and
// wrote no value whose text form may contain an address in memory.
func (b *Budget) Repeatable() bool { return !b.varies }

// varying are the functions whose results may differ in the next rendering, and the look-ups. The functions that read
// the clock are not among them; see session.now.
var varying = setOf(
	"randAlphaNum", "randAlpha", "randAscii", "randNumeric", "randBytes", "randInt", "shuffle", "uuidv4",
	"bcrypt", "htpasswd", "encryptAES", "genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert",
	"genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey",
	"lookup", "mustLookup", "lookupList", "localLookup", "mustLocalLookup", "localLookupList",
)

// noteCalls replaces the varying functions, and those of an author, by functions that call note first.
func noteCalls(functions, authored template.FuncMap, note func()) {
	for name, function := range functions {
		if _, fromAuthor := authored[name]; !fromAuthor && !varying[name] {
			continue
		}
		value := reflect.ValueOf(function)
		functions[name] = reflect.MakeFunc(value.Type(), func(in []reflect.Value) []reflect.Value {
			note()
			if value.Type().IsVariadic() {
				return value.CallSlice(in)
			}
			return value.Call(in)
		}).Interface()
	}
}

// addressVerb finds the verb of package fmt that writes the address of a map or a list.
var addressVerb = regexp.MustCompile(`%[^a-zA-Z%]*p`)

// addressed are the kinds of values for which package fmt may write an address, also for a field of them.
var addressed = []reflect.Kind{reflect.Pointer, reflect.Struct, reflect.Func, reflect.Chan, reflect.UnsafePointer}

func mayHaveAddress(kind reflect.Kind) bool { return slices.Contains(addressed, kind) }
