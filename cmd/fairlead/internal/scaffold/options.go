package scaffold

import (
	"errors"
	"fmt"
	"go/token"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-io/fairlead/internal/version"
)

// Generator is the engine that renders the dependents of the operator.
type Generator string

// The generators of a project.
const (
	GeneratorHelm       Generator = "helm"
	GeneratorKustomize  Generator = "kustomize"
	GeneratorGoTemplate Generator = "gotemplate"
	GeneratorGo         Generator = "go"
)

// Generators contains all generators of a project.
var Generators = []Generator{GeneratorHelm, GeneratorKustomize, GeneratorGoTemplate, GeneratorGo}

// GeneratorNames are the names of generators in flags and in spec.generator of a component. The file PROJECT of a
// scaffolded project has these names in lower case.
var GeneratorNames = []string{"Helm", "Kustomize", "GoTemplate", "Go"}

// ParseGenerator returns the generator with this name, in upper or lower case.
func ParseGenerator(text string) Generator {
	for _, g := range Generators {
		if strings.EqualFold(string(g), text) {
			return g
		}
	}
	return Generator(text)
}

// Interface is the name of a group of optional interfaces of component.Component and their fields in the spec.
type Interface string

// The groups of interfaces. Each comment names the interfaces of component.Component and the fields of the spec.
const (
	// InterfaceSuspend is Suspender: spec.suspend.
	InterfaceSuspend Interface = "suspend"
	// InterfacePlacement is Placer: spec.targetNamespace and spec.targetName.
	InterfacePlacement Interface = "placement"
	// InterfaceIntervals is Resyncer, Retrier and Timeouter: spec.interval, spec.retryInterval and spec.timeout.
	InterfaceIntervals Interface = "intervals"
	// InterfaceServiceAccount is ServiceAccountHolder: spec.serviceAccountName.
	InterfaceServiceAccount Interface = "service-account"
	// InterfaceKubeConfig is Targeter: spec.kubeConfig.
	InterfaceKubeConfig Interface = "kubeconfig"
	// InterfacePolicies is PolicyHolder: spec.adoptionPolicy, spec.updatePolicy and spec.deletePolicy.
	InterfacePolicies Interface = "policies"
	// InterfaceTypes is TypeHolder: spec.additionalManagedTypes.
	InterfaceTypes Interface = "types"
)

// Interfaces contains all groups of interfaces.
var Interfaces = []Interface{
	InterfaceSuspend, InterfacePlacement, InterfaceIntervals, InterfaceServiceAccount, InterfaceKubeConfig,
	InterfacePolicies, InterfaceTypes,
}

// fieldsOf contains the fields of the spec for each interface.
var fieldsOf = map[Interface][]string{
	InterfaceSuspend:        {"suspend"},
	InterfacePlacement:      {"targetNamespace", "targetName"},
	InterfaceIntervals:      {"interval", "retryInterval", "timeout"},
	InterfaceServiceAccount: {"serviceAccountName"},
	InterfaceKubeConfig:     {"kubeConfig"},
	InterfacePolicies:       {"adoptionPolicy", "updatePolicy", "deletePolicy"},
	InterfaceTypes:          {"additionalManagedTypes"},
}

// Options are the options with which a project is rendered. The project contains a record of them.
type Options struct {
	// Group, Version and Kind are the API type of the component.
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
	// Resource is the plural name of the type. If it is empty, it is derived from the kind; see Plural.
	Resource string `json:"plural,omitempty"`
	// OperatorName is the name of the reconciler: the field manager of all writes, and the prefix of labels,
	// annotations and finalizers.
	OperatorName string `json:"operatorName"`
	// Module is the path of the Go module.
	Module string `json:"module"`
	// Generator is the generator that renders the dependents.
	Generator Generator `json:"generator"`
	// Interfaces are the optional interfaces that the component implements.
	Interfaces []Interface `json:"interfaces,omitempty"`
	// Webhooks adds a defaulting and a validating webhook.
	Webhooks bool `json:"webhooks,omitempty"`
	// External is the kind of dependents outside Kubernetes that the project handles; empty for none.
	External string `json:"external,omitempty"`
	// Client adds a package with a typed client for the component's type.
	Client bool `json:"client,omitempty"`
	// Watched are kinds of other objects that the project watches, as inputs of the rendering.
	Watched []Watched `json:"watch,omitempty"`
	// Image is the image of the operator, without a tag.
	Image string `json:"image"`

	SourceOptions
	Notice
}

// SourceOptions are the options of the source that the generator renders.
type SourceOptions struct {
	// SkipSchema renders the chart without the validation of values by its schema.
	SkipSchema bool `json:"skipSchema,omitempty"`
	// Given reports whether the source is a chart or kustomization of the person, and not the example.
	Given bool `json:"given,omitempty"`
}

// imageName is the grammar of a repository: an optional host with a port, and a path in lower case, without tag and
// digest.
var imageName = regexp.MustCompile(`^([a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?(:[0-9]+)?/)?` +
	`[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)

// maxShortName is the maximum length of ShortName. It is short, because names of objects add suffixes to it.
const maxShortName = 40

// Validate returns an error for each invalid option, with the name of its flag.
func (o Options) Validate() error {
	errs := slices.Concat(o.validateType(), o.validateNames(), o.validateChoices(), o.validateExternal(), o.validateNotice())
	return errors.Join(errs...)
}

func (o Options) validateType() []error {
	errs := o.validateGroup()
	if o.Resource != "" && len(validation.IsDNS1035Label(o.Resource)) > 0 {
		errs = append(errs, unwanted("plural", o.Resource, "a word of lower-case letters, digits and hyphens, such as shops"))
	}
	if !apiVersion.MatchString(o.Version) {
		errs = append(errs, fmt.Errorf("--version %q: want a version such as v1, v1beta2 or v1alpha1", o.Version))
	}
	if !kindName.MatchString(o.Kind) || len(o.Kind) > validation.DNS1035LabelMaxLength {
		errs = append(errs, unwanted("kind", o.Kind,
			"a word in camel case that begins with a capital letter, such as Shop, of at most 63 letters and digits"))
	} else if strings.HasSuffix(o.Kind, "List") {
		errs = append(errs, fmt.Errorf("--kind %q: names that end in List are reserved for lists", o.Kind))
	} else if name := o.Plural() + "." + o.Group; len(name) > validation.DNS1123SubdomainMaxLength {
		errs = append(errs, fmt.Errorf("--kind and --group: the name of the definition, %s, is longer than %d characters",
			name, validation.DNS1123SubdomainMaxLength))
	}
	return errs
}

func (o Options) validateGroup() []error {
	switch {
	case len(validation.IsDNS1123Subdomain(o.Group)) > 0 || !strings.Contains(o.Group, "."):
		return []error{unwanted("group", o.Group,
			"a name of your own with a dot in it, of lower-case letters, digits, hyphens and dots, such as apps.example.com")}
	case isOf(o.Group, "fairlead.io"):
		return []error{fmt.Errorf("--group %q: this is the group of Fairlead's types; use your own, such as apps.example.com",
			o.Group)}
	case isOf(o.Group, "k8s.io"), isOf(o.Group, "kubernetes.io"):
		return []error{fmt.Errorf("--group %q: the API server protects the groups of Kubernetes; use your own, such as "+
			"apps.example.com", o.Group)}
	}
	return nil
}

// isOf reports whether a name is a domain or a subdomain of the domain.
func isOf(name, domain string) bool { return name == domain || strings.HasSuffix(name, "."+domain) }

// unwanted returns an error for a flag that is missing or has a wrong value.
func unwanted(flag, value, want string) error {
	if value == "" {
		return fmt.Errorf("--%s is missing: want %s", flag, want)
	}
	return fmt.Errorf("--%s %q: want %s", flag, value, want)
}

var (
	apiVersion = regexp.MustCompile(`^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$`)
	kindName   = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
)

func (o Options) validateNames() []error {
	var errs []error
	if len(validation.IsDNS1123Subdomain(o.OperatorName)) > 0 {
		errs = append(errs, unwanted("operator-name", o.OperatorName,
			"a name of lower-case letters, digits, hyphens and dots, such as shop-operator.example.com"))
	} else if isOf(o.OperatorName, "fairlead.io") {
		errs = append(errs,
			fmt.Errorf("--operator-name %q: this domain is for operators of Fairlead; use your own, such as "+
				"shop-operator.example.com", o.OperatorName))
	} else if problems := validation.IsDNS1035Label(o.ShortName()); len(problems) > 0 ||
		len(o.ShortName()) > maxShortName {
		errs = append(errs, fmt.Errorf("--operator-name %q: the part before the first dot is used in names of objects: "+
			"want a letter, then up to %d letters, digits and hyphens, such as shop-operator",
			o.OperatorName, maxShortName-1))
	}
	if o.Module == "" {
		errs = append(errs, unwanted("module", o.Module, "the path of a Go module, such as example.com/shop-operator"))
	} else if err := module.CheckImportPath(o.Module); err != nil {
		errs = append(errs, fmt.Errorf("--module: %w", err))
	} else if _, _, ok := module.SplitPathVersion(o.Module); !ok {
		errs = append(errs, fmt.Errorf("--module %q: a major version suffix is /v2 or higher", o.Module))
	} else if err := checkModuleIsOwn(o.Module); err != nil {
		errs = append(errs, err)
	}
	return append(errs, o.validateImage(len(errs) == 0)...)
}

// validateImage validates the image. If the operator's name is wrong, it does not report the default image, because the
// default is derived from this name.
func (o Options) validateImage(isNamed bool) []error {
	switch {
	case imageName.MatchString(o.Image), o.Image == "" && o.OperatorName == "", !isNamed && o.Image == o.defaultImage():
		return nil
	}
	return []error{unwanted("image", o.Image,
		"a repository without tag or digest, such as registry.example.com/shop-operator")}
}

// checkModuleIsOwn returns an error for module paths that the go command reserves, and for the module of Fairlead.
func checkModuleIsOwn(path string) error {
	first, _, _ := strings.Cut(path, "/")
	switch {
	case first == "std" || first == "cmd" || token.IsKeyword(first):
		return fmt.Errorf("--module %q: begin with your own domain, such as example.com/shop-operator", path)
	case path == version.Module || strings.HasPrefix(path, version.Module+"/"):
		return fmt.Errorf("--module %q: this is the module of Fairlead", path)
	}
	return nil
}

func (o Options) validateChoices() []error {
	var errs []error
	if !slices.Contains(Generators, o.Generator) {
		errs = append(errs, fmt.Errorf("--generator %q: want %s", o.Generator, strings.Join(GeneratorNames, ", ")))
	}
	seen := map[Interface]bool{}
	for _, chosen := range o.Interfaces {
		switch {
		case !slices.Contains(Interfaces, chosen):
			errs = append(errs, fmt.Errorf("--interfaces %q: want %s", chosen, list(Interfaces)))
		case seen[chosen]:
			errs = append(errs, fmt.Errorf("--interfaces: %s is given twice", chosen))
		}
		seen[chosen] = true
	}
	return append(errs, o.validateWatched()...)
}

func list[T ~string](values []T) string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = string(value)
	}
	return strings.Join(texts, ", ")
}
