// Package gotemplate renders the dependents of a component from Go templates; docs/generators/gotemplate.md describes
// them for their authors.
//
// # Files
//
// Every file of the source that ends in .yaml, .yml, .json, .tpl or .gotmpl, in sub-folders too, is a template, named
// by its path. Each gives manifests, YAML or JSON, except those whose name begins with an underscore, which only
// define templates for others. Files and folders whose name begins with a dot are left out. A plain manifest is a
// template without actions.
//
// All templates of a source see each other. Where several define one of the same name, a file gets that of its own
// folder, else of the closest folder above, else of the last path.
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
// A key that does not exist is an error, unless Options.MissingKeys says otherwise: a misspelt value must not become
// an empty field. Optional values are read with get, dig or hasKey:
//
//	{{ dig "image" "tag" "latest" .Values }}
//
// # Functions
//
// Those of text/template, those of sprig without env, expandenv and getHostByName, and those of
// docs/generators/functions.md: include, tpl, required, look-ups, files, YAML, JSON and TOML, IP addresses, and what
// the request tells. Options.Functions adds more.
package gotemplate
