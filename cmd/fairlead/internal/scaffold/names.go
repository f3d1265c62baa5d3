package scaffold

import (
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/scaffold/operatorrules"
)

// Plural is the name of the resource of the component's type.
func (o Options) Plural() string {
	if o.Resource != "" {
		return o.Resource
	}
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: o.Group, Version: o.Version, Kind: o.Kind})
	return plural.Resource
}

// Singular is the kind in lower case. It is used in names of files.
func (o Options) Singular() string { return strings.ToLower(o.Kind) }

// ShortName is the operator's name up to the first dot. It is the name of the program and of the chart, and a part of
// the names of the chart's objects.
func (o Options) ShortName() string {
	name, _, _ := strings.Cut(o.OperatorName, ".")
	return name
}

// Receiver is the name of the receiver in methods of the component's Go type.
func (o Options) Receiver() string { return o.Singular()[:1] }

// Has reports whether the component implements an optional interface.
func (o Options) Has(name string) bool {
	for _, chosen := range o.Interfaces {
		if string(chosen) == name {
			return true
		}
	}
	return false
}

// Renders reports whether the project has this generator.
func (o Options) Renders(name string) bool { return string(o.Generator) == name }

// Free reports whether the fields of the spec are unknown. This is the case for a given kustomization, because it does
// not declare the values of its templates.
func (o Options) Free() bool { return o.Generator == GeneratorKustomize && o.Given }

// API is the import path of the component's package.
func (o Options) API() string { return path.Join(o.Module, "api", o.Version) }

// WithDefaults returns the options with defaults for empty fields.
func (o Options) WithDefaults() Options {
	if o.Version == "" {
		o.Version = "v1alpha1"
	}
	if o.Generator == "" {
		o.Generator = GeneratorGo
	}
	if o.Image == "" && o.OperatorName != "" {
		o.Image = o.defaultImage()
	}
	return o
}

// defaultImage is derived from the name of the operator.
func (o Options) defaultImage() string { return "registry.example.com/" + o.ShortName() }

// WebhookPath is the part of a webhook's URL path that controller-runtime derives from the type.
func (o Options) WebhookPath() string {
	return strings.ReplaceAll(o.Group, ".", "-") + "-" + o.Version + "-" + o.Singular()
}

// rbacFeatures returns the interfaces of the component that need additional RBAC rules.
func (o Options) rbacFeatures() operatorrules.Features {
	return operatorrules.Features{
		KubeConfig:     o.Has(string(InterfaceKubeConfig)),
		ServiceAccount: o.Has(string(InterfaceServiceAccount)),
		Placement:      o.Has(string(InterfacePlacement)),
		Externals:      o.External != "",
		Watched:        o.watchedKinds(),
	}
}
