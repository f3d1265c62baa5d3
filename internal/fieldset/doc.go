// Package fieldset reads managed fields in the form of FieldsV1 (KEP-555) as maps. A key f:name is a field, k:{…} is an
// item of a list that is identified by its key fields, and v:… is an item of a set. A node without children includes
// the whole value.
//
// The package is pure. Managed fields that cannot be decoded count as none, because only an API server writes them.
package fieldset
