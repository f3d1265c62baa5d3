// Package jsontype finds the fields that Go types have in JSON.
//
// It enforces one rule: the names of fields, and which fields an embedded struct adds, are those of encoding/json. The
// package is pure: it looks at types and never at values.
package jsontype
