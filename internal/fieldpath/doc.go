// Package fieldpath implements paths to the fields of dependents that a reconciler leaves to others.
//
// A path is written as the API server writes fields in conflicts of server-side apply: names with dots between them,
// and items of lists by their merge keys in brackets, such as spec.template.spec.containers[name="web"].image. Names
// with other characters are written in brackets: metadata.annotations["example.com/size"]. A star selects every item of
// a list or every key of a map: spec.ports[*].nodePort.
//
// The functions work on plain data: on objects, and on managed fields in the form of FieldsV1 (see package fieldset).
// They never change their arguments. A live object shows by its managed fields how the API server divides it into
// fields, so the package needs no schema.
package fieldpath
