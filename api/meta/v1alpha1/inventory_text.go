package v1alpha1

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// The keys of critical fields.
const (
	occurrenceKey = criticalMark + "oc@v0.1"
	failedKey     = criticalMark + "fd@v0.1"
	dependsOnKey  = criticalMark + "on@v0.1"
	externalKey   = criticalMark + "ex@v0.1"
)

// The values of the field of externals.
const (
	externalPlanned = "planned"
	externalBegun   = "begun"
)

// criticalMark is the first character of the key of a critical field.
const criticalMark = "!"

// UnknownFieldError is the error of an entry with a critical field that is unknown to this version, because a newer
// version wrote the entry. The reconciler must not change the component or its dependents, and must not rebuild the
// inventory.
type UnknownFieldError struct {
	// Entry is group/version/kind/namespace/name of the dependent, in the form of the record.
	Entry string
	// Field is the name of the field.
	Field string
	// Since is the first version that knows the field. It is empty if the entry does not contain the version.
	Since string
}

// Error implements error.
func (e *UnknownFieldError) Error() string {
	known := "a newer version of the operator wrote it"
	if e.Since != "" {
		known = e.Since + " and later versions of the operator know it"
	}
	return fmt.Sprintf("inventory entry %s: the field %q must not be ignored, and this version does not know it; %s",
		e.Entry, e.Field, known)
}

// String returns the text form of the entry.
func (e InventoryEntry) String() string {
	var b strings.Builder
	for _, part := range []string{e.Group, e.Version, e.Kind, e.Namespace} {
		b.WriteString(escape(part))
		b.WriteByte('/')
	}
	b.WriteString(escape(e.Name))
	field := func(key, value string) {
		if value != "" {
			b.WriteByte(' ')
			b.WriteString(key)
			b.WriteByte('=')
			b.WriteString(value)
		}
	}
	text := func(key, value string) { field(key, escape(value)) }
	flag := func(key string, set bool) {
		if set {
			field(key, "true")
		}
	}
	text("u", string(e.UID))
	text("d", e.Digest)
	text("f", e.Fields)
	text("v", e.Values)
	if e.Revision != 0 {
		field("r", strconv.FormatInt(e.Revision, 10))
	}
	if e.Rendition != 0 {
		field("rn", strconv.FormatInt(e.Rendition, 10))
	}
	if e.Order != 0 {
		field("o", strconv.Itoa(e.Order))
	}
	if e.DeleteOrder != nil {
		field("x", strconv.Itoa(*e.DeleteOrder))
	}
	text("up", string(e.UpdatePolicy))
	text("dp", string(e.DeletePolicy))
	text("pp", string(e.PrunePolicy))
	flag("c", e.Completed)
	flag("gd", e.Guarded)
	flag("lo", e.LeftOut)
	if e.Immutable != 0 {
		field("im", strconv.FormatUint(uint64(e.Immutable), 16))
	}
	text("ph", e.Phase)
	text("g", e.Trigger)
	if e.AppliedAt != 0 {
		field("a", strconv.FormatInt(e.AppliedAt, 10))
	}
	if e.Occurrence != 0 {
		field(occurrenceKey, strconv.Itoa(e.Occurrence))
	}
	text(failedKey, e.Failed)
	text(dependsOnKey, e.DependsOn)
	field(externalKey, e.externalMark())
	text("ct", e.CreationToken)
	text("og", e.DependencyGroup)
	text("hs", e.HeldSince)
	types := make([]string, 0, len(e.Types))
	for _, t := range e.Types {
		types = append(types, escape(t))
	}
	field("t", strings.Join(types, ","))
	text("un", e.Unserved)
	text("ov", e.Overridden)
	for _, f := range e.unknown {
		b.WriteByte(' ')
		b.WriteString(f)
	}
	return b.String()
}

// externalMark returns the value of the field of externals; empty for other objects.
func (e InventoryEntry) externalMark() string {
	switch {
	case !e.External:
		return ""
	case e.Begun:
		return externalBegun
	}
	return externalPlanned
}

// ParseInventoryEntry reads the text form of an entry. The error contains the text. It is an UnknownFieldError if the
// entry has an unknown critical field.
func ParseInventoryEntry(text string) (InventoryEntry, error) {
	id, rest, _ := strings.Cut(text, " ")
	parts := strings.Split(id, "/")
	if len(parts) != 5 || parts[1] == "" || parts[2] == "" || parts[4] == "" {
		return InventoryEntry{}, fmt.Errorf("inventory entry %q: want group/version/kind/namespace/name", text)
	}
	var e InventoryEntry
	for i, part := range []*string{&e.Group, &e.Version, &e.Kind, &e.Namespace, &e.Name} {
		var err error
		if *part, err = url.PathUnescape(parts[i]); err != nil {
			return InventoryEntry{}, fmt.Errorf("inventory entry %q: %w", text, err)
		}
	}
	for f := range strings.FieldsSeq(rest) {
		err := e.setField(f)
		if unknown, ok := errors.AsType[*UnknownFieldError](err); ok {
			unknown.Entry = id
			return InventoryEntry{}, unknown
		}
		if err != nil {
			return InventoryEntry{}, fmt.Errorf("inventory entry %q: %w", text, err)
		}
	}
	return e, nil
}

// escape path-escapes a text, because names may contain the separators of the text form, such as spaces and commas.
func escape(text string) string {
	return strings.ReplaceAll(url.PathEscape(text), "%2A", "*")
}

// unescapeAll parses a comma-separated list of escaped texts.
func unescapeAll(list string) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	texts := strings.Split(list, ",")
	for i := range texts {
		var err error
		if texts[i], err = url.PathUnescape(texts[i]); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

func (e *InventoryEntry) setField(f string) error {
	key, value, ok := strings.Cut(f, "=")
	if !ok {
		return fmt.Errorf("field %q has no value", f)
	}
	var err error
	if text := e.textField(key); text != nil {
		*text, err = url.PathUnescape(value)
		return err
	}
	if number := e.numberField(key); number != nil {
		*number, err = strconv.ParseInt(value, 10, 64)
		return err
	}
	if flag := e.flagField(key); flag != nil {
		*flag, err = strconv.ParseBool(value)
		return err
	}
	switch key {
	case "o":
		e.Order, err = strconv.Atoi(value)
	case "x":
		var order int
		order, err = strconv.Atoi(value)
		e.DeleteOrder = &order
	case "im":
		var hash uint64
		hash, err = strconv.ParseUint(value, 16, 32)
		e.Immutable = uint32(hash)
	case "t":
		e.Types, err = unescapeAll(value)
	case occurrenceKey:
		e.Occurrence, err = strconv.Atoi(value)
	case externalKey:
		e.External, e.Begun = true, value != externalPlanned
	default:
		if name, critical := strings.CutPrefix(key, criticalMark); critical {
			name, since, _ := strings.Cut(name, "@")
			return &UnknownFieldError{Field: name, Since: since}
		}
		e.unknown = append(e.unknown, f)
	}
	return err
}

// numberField returns a pointer to the number field with the given key. It returns nil if the field is no such number
// or is unknown.
func (e *InventoryEntry) numberField(key string) *int64 {
	switch key {
	case "r":
		return &e.Revision
	case "rn":
		return &e.Rendition
	case "a":
		return &e.AppliedAt
	}
	return nil
}

// flagField returns a pointer to the field with the given key that is either set or not. It returns nil if the field is
// no such field or is unknown.
func (e *InventoryEntry) flagField(key string) *bool {
	switch key {
	case "c":
		return &e.Completed
	case "gd":
		return &e.Guarded
	case "lo":
		return &e.LeftOut
	}
	return nil
}

// textField returns a pointer to the text field with the given key. It returns nil if the field is not a text or is
// unknown.
func (e *InventoryEntry) textField(key string) *string {
	switch key {
	case "u":
		return (*string)(&e.UID)
	case "d":
		return &e.Digest
	case "f":
		return &e.Fields
	case "v":
		return &e.Values
	case "g":
		return &e.Trigger
	case "ph":
		return &e.Phase
	case "up":
		return (*string)(&e.UpdatePolicy)
	case "un":
		return &e.Unserved
	case "dp":
		return (*string)(&e.DeletePolicy)
	case "pp":
		return (*string)(&e.PrunePolicy)
	}
	return e.rareTextField(key)
}

// rareTextField returns a pointer to a text field that few entries have; nil if there is none with the given key.
func (e *InventoryEntry) rareTextField(key string) *string {
	switch key {
	case failedKey:
		return &e.Failed
	case dependsOnKey:
		return &e.DependsOn
	case "ct":
		return &e.CreationToken
	case "og":
		return &e.DependencyGroup
	case "hs":
		return &e.HeldSince
	case "ov":
		return &e.Overridden
	}
	return nil
}

// ParseInventory reads all entries of a status, and joins the errors of all invalid entries. If the error contains an
// UnknownFieldError, the caller must not change the component or its dependents.
func ParseInventory(lines []string) ([]InventoryEntry, error) {
	entries := make([]InventoryEntry, 0, len(lines))
	var errs []error
	for _, line := range lines {
		e, err := ParseInventoryEntry(line)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		entries = append(entries, e)
	}
	return entries, errors.Join(errs...)
}
