// Package valuetypes derives Go types from what a chart says about its values: values.yaml, its comments, values.schema.json, and the way in
// which templates use them. From the types controller-gen makes the schema of a custom resource definition.
//
// What a chart passes on as a whole, such as resources or tolerations, stays free-form: a type would drop what it does not know. So does
// what cannot be told from an empty or missing value. A note says of each such value why.
package valuetypes
