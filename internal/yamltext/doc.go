// Package yamltext decodes YAML and JSON by one rule for all sources: values of a user, values and manifests of charts,
// kustomizations and templates, and answers of services. If a key occurs twice in a map, the last value counts, as with
// Helm and kubectl, and the key is reported. A byte order mark before the content of a document is no part of it.
package yamltext
