package v1alpha1

import (
	"fmt"
	"net/url"
	"strings"
)

// LookupState says what a look-up found.
type LookupState string

// The states of a look-up.
const (
	// LookupFound: the object, or a list.
	LookupFound LookupState = "found"
	// LookupMissing: no object of that name.
	LookupMissing LookupState = "missing"
	// LookupUnserved: no type of that name.
	LookupUnserved LookupState = "unserved"
	// LookupOwn: a dependent of the component itself, whose changes don't matter.
	LookupOwn LookupState = "own"
)

// Lookup is the record of an object, or a list of objects, that a rendering looked up. Its text form is what
// Status.Lookups holds:
//
//	/v1/Secret/shop/db d=5b0e…
//
// First group/version/kind/namespace/name, as in an InventoryEntry, with * as the name of a list, then fields that are
// not zero.
type Lookup struct {
	Group, Version, Kind, Namespace, Name string

	// Local says that it was looked up where the component is, and not in the target.
	Local bool
	// State says what was found.
	State LookupState
	// Digest identifies the content that was found.
	Digest string
	// Status says that the status is a part of the content: the rendering reads it.
	Status bool
}

// LookupList is the name of a look-up that is a list.
const LookupList = "*"

// String returns the text form.
func (l Lookup) String() string {
	parts := []string{escape(l.Group), escape(l.Version), escape(l.Kind), escape(l.Namespace), escape(l.Name)}
	text := strings.Join(parts, "/")
	if l.Local {
		text += " l=true"
	}
	if l.State != LookupFound {
		text += " is=" + escape(string(l.State))
	}
	if l.Digest != "" {
		text += " d=" + escape(l.Digest)
	}
	if l.Status {
		text += " s=true"
	}
	return text
}

// ParseLookup reads the text form. The error quotes it.
func ParseLookup(text string) (Lookup, error) {
	id, rest, _ := strings.Cut(text, " ")
	parts := strings.Split(id, "/")
	if len(parts) != 5 || parts[1] == "" || parts[2] == "" || parts[4] == "" {
		return Lookup{}, fmt.Errorf("look-up %q: want group/version/kind/namespace/name", text)
	}
	l := Lookup{State: LookupFound}
	for i, part := range []*string{&l.Group, &l.Version, &l.Kind, &l.Namespace, &l.Name} {
		var err error
		if *part, err = url.PathUnescape(parts[i]); err != nil {
			return Lookup{}, fmt.Errorf("look-up %q: %w", text, err)
		}
	}
	for field := range strings.FieldsSeq(rest) {
		if err := l.setField(field); err != nil {
			return Lookup{}, fmt.Errorf("look-up %q: %w", text, err)
		}
	}
	return l, nil
}

func (l *Lookup) setField(field string) error {
	key, value, ok := strings.Cut(field, "=")
	if !ok {
		return fmt.Errorf("field %q has no value", field)
	}
	value, err := url.PathUnescape(value)
	if err != nil {
		return err
	}
	switch key {
	case "l":
		l.Local = value == "true"
	case "is":
		l.State = LookupState(value)
	case "d":
		l.Digest = value
	case "s":
		l.Status = value == "true"
	default:
		return fmt.Errorf("field %q is unknown", field)
	}
	return nil
}
