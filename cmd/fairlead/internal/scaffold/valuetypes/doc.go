// Package valuetypes derives Go types for the values of a chart from values.yaml, its comments, values.schema.json, and
// the use of values in templates. From these types, controller-gen generates the schema of a custom resource
// definition.
//
// Some values are free-form, without a Go type: values that a chart uses as a whole, such as resources or tolerations,
// because a type would drop unknown fields, and values whose type cannot be derived because they are empty or missing.
// A note gives the reason for each free-form value.
package valuetypes
