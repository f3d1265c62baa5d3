// Package gotemplate renders the dependents of a component from Go templates.
//
// # Files
//
// Every file of the source that ends in .yaml, .yml, .json, .tpl or .gotmpl, in sub-folders too, is a template, named by its path. Each gives manifests,
// YAML or JSON, except those whose name begins with an underscore, which only define templates for others. Files and folders whose name begins with a dot
// are left out. A plain manifest is a template without actions.
//
// # Data
//
// The dot of every template is
//
//	.Values        the component's parameters; whole numbers are integers
//	.Name          the component's name
//	.Namespace     the component's namespace
//	.Revision      counts the changes of the inputs, from 1
//	.Digest        of the inputs
//	.Capabilities  .KubeVersion (.Version, .Major, .Minor) and .APIVersions (.Has "apps/v1") of the target
//
// A key that does not exist is an error, unless Options.MissingKeys says otherwise: a misspelt value must not become an empty field. Optional values
// are read with get, dig or hasKey:
//
//	{{ dig "image" "tag" "latest" .Values }}
//
// # Functions
//
// The functions of text/template and of sprig (without env, expandenv and getHostByName, which would read from the operator's machine), and
//
//	include NAME DATA     the output of a template, for pipelines
//	tpl TEXT DATA         the output of a text that is a template
//	required MESSAGE V    V, or an error where it is nil or an empty string
//	toYaml, fromYaml      and toJson, fromJson; what cannot be converted is an error
//	lookup VERSION KIND NAMESPACE NAME
//	                      an object of the target, or the list of all where NAME is empty; an empty map where there is none, where the
//	                      kind is not served, or where there is no target
//	name, namespace, revision, digest
//	                      what the dot of a file has, for templates that get another dot
package gotemplate
