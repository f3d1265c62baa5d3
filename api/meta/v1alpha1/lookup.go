package v1alpha1

import (
	"fmt"
	"net/url"
	"strings"
)

// LookupState is the result of a look-up.
type LookupState string

// The states of a look-up.
const (
	// LookupFound: the object exists, or the list succeeded.
	LookupFound LookupState = "found"
	// LookupMissing: no object with the requested name exists.
	LookupMissing LookupState = "missing"
	// LookupUnserved: the API server does not serve the requested type.
	LookupUnserved LookupState = "unserved"
	// LookupOwn: the object is a dependent of the component itself. Its changes do not start a new rendering.
	LookupOwn LookupState = "own"
)

// Lookup is an object, or a list of objects, that a rendering looked up. Status.Lookups contains look-ups in their text
// form:
//
//	/v1/Secret/shop/db d=5b0e…
//
// The text begins with group/version/kind/namespace/name, as in an InventoryEntry. Then follow the other fields that
// are not zero. The name of a list is *.
type Lookup struct {
	Group, Version, Kind, Namespace, Name string

	// Local is set if the object was looked up in the cluster of the component instead of the target cluster.
	Local bool
	// State is the result of the look-up.
	State LookupState
	// Digest identifies the content of the object or the list.
	Digest string
	// Status is set if the rendering depends on the status of the object. Then the status is part of Digest.
	Status bool
}

// LookupList is the name of a look-up that lists objects.
const LookupList = "*"

// String returns the text form of the look-up.
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

// ParseLookup parses the text form of a look-up. The error contains the text.
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
