// Package gotemplate renders the dependents of a component from Go templates; docs/generators/gotemplate.md describes
// them for their authors.
//
// # Files
//
// Every file of the source that ends in .yaml, .yml, .json, .tpl or .gotmpl is a template, also in sub-folders. The
// name of the template is the path of the file. Its output are manifests in YAML or JSON. Files whose names begin with
// an underscore have no output; they contain definitions for other templates. Files and folders whose names begin with
// a dot are ignored. A plain manifest is a valid template.
//
// Each template can include all templates of the source. If several files define a template with the same name, a file
// uses the definition in its own folder, or else in the closest folder above, or else in the file whose path sorts
// last.
//
// # Data
//
// Every template is executed with these values:
//
//	.Values        the component's parameters; whole numbers are integers
//	.Name          the component's name
//	.Namespace     the component's namespace
//	.Revision      counts the changes of the inputs, from 1
//	.Digest        of the inputs
//	.Capabilities  .KubeVersion (.Version, .Major, .Minor) and .APIVersions (.Has "apps/v1") of the target
//
// A missing key is an error by default, so that a misspelt name does not silently become an empty field;
// Options.MissingKeys can change that. Read optional values with get, dig or hasKey:
//
//	{{ dig "image" "tag" "latest" .Values }}
//
// # Functions
//
// Templates can call the functions of text/template, the functions of sprig except env, expandenv and getHostByName,
// and the functions in docs/reference/functions.md: include, tpl, required, look-ups, files, YAML, JSON and TOML, IP
// addresses, and data of the request. Options.Functions adds further functions.
package gotemplate
