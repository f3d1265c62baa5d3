// Package valuetypes derives Go types from the values of a chart: from values.yaml, its comments, values.schema.json,
// and the way in which templates use values. controller-gen makes the schema of a custom resource definition from these
// types.
//
// A value that a chart passes on as a whole, such as resources or tolerations, stays free-form, because a type would
// drop unknown fields. So does a value whose type cannot be derived because it is empty or missing. A note gives the
// reason for each such value.
package valuetypes
