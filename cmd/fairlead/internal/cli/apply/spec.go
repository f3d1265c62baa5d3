package apply

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/values"
)

// specOptions are the flags that set the spec of a component.
type specOptions struct {
	values values.Options
	// fields are the values of the flags for a field each, by the name of the field.
	fields map[string]*string
	// changed reports whether a flag is given.
	changed func(flag string) bool
	// manifest is the manifest of the component, or nil.
	manifest *unstructured.Unstructured
	// skipSchema leaves out the validation of the values of a chart.
	skipSchema bool
	// sha256 is the digest that the archive behind a URL must have.
	sha256 string
	// inputs are the values of inputs, as NAME=FILE.
	inputs []string
	// adopt permits the component to take over the existing objects that the plan finds. clusters are the clusters whose
	// objects it may take over.
	adopt    bool
	clusters []string
}

// addTo adds the flags that set the spec of a component.
func (o *specOptions) addTo(flags *pflag.FlagSet) {
	command.AddValueFlags(flags, &o.values)
	o.fields = specFlags(flags)
	command.AddSkipSchemaFlag(flags, &o.skipSchema)
	addDigestFlag(flags, &o.sha256)
	flags.BoolVar(&o.adopt, "adopt", false, "take over the existing objects that the plan lists")
	flags.StringArrayVar(&o.clusters, "adopt-cluster", nil,
		"UID of the namespace kube-system of another cluster; take over what the component owned there; may be repeated")
}

// specFlags adds the flags that set a field of the spec. It returns the values of the flags by the name of the field.
func specFlags(flags *pflag.FlagSet) map[string]*string {
	return map[string]*string{
		"generator": flags.String("generator", "",
			"generator of the source: "+strings.Join(command.Generators, ", ")+`; by default, and with "", it is detected`),
		"path": flags.String("path", "", "folder inside the source that is rendered"),
		"targetNamespace": flags.String("target-namespace", "",
			"namespace of the dependents; by default the namespace of the component"),
		"targetName": flags.String("target-name", "", "release name; by default the name of the component"),
		"serviceAccountName": flags.String("service-account", "",
			"service account in the component's namespace; by default the one in the operator's configuration"),
	}
}

var flagOfField = map[string]string{
	"generator": "generator", "path": "path", "targetNamespace": "target-namespace", "targetName": "target-name",
	"serviceAccountName": "service-account",
}

// takeManifest moves the manifest of a component, if there is one, from the files of values to the options. It returns
// the arguments with the name of the component, which the manifest has too.
func (o *specOptions) takeManifest(namespace *string, args []string) (named []string, err error) {
	o.manifest, named, err = command.TakeManifest(&o.values, namespace, args)
	return named, err
}

// given returns the fields of the spec that the flags set. An empty value removes a field.
func (o *specOptions) given() (map[string]any, error) {
	if err := o.checkClusters(); err != nil {
		return nil, err
	}
	fields := map[string]any{}
	for field, value := range o.fields {
		if !o.changed(flagOfField[field]) {
			continue
		}
		given := *value
		if field == "generator" {
			given = command.GeneratorOf(given)
		}
		if err := checkField(field, given); err != nil {
			return nil, err
		}
		fields[field] = nil
		if given != "" {
			fields[field] = given
		}
	}
	if o.changed(command.FlagSkipSchema) {
		fields["helm.skipSchema"] = nil
		if o.skipSchema {
			fields["helm.skipSchema"] = true
		}
	}
	if !o.values.Given() {
		return fields, nil
	}
	loaded, err := o.values.Load()
	if err != nil {
		return nil, exit.BadInput("%w", err)
	}
	fields["values"] = loaded
	return fields, nil
}

// checkClusters returns an error if a flag names something else than a cluster.
func (o *specOptions) checkClusters() error {
	for _, uid := range o.clusters {
		if !metav1alpha1.IsClusterUID(uid) {
			return exit.BadUsage("--adopt-cluster %q: want the UID of the namespace kube-system of the other cluster, "+
				"such as 0b1e9a4c-5f0d-4d8e-9a55-3f6f0f2c1d7e", uid)
		}
	}
	return nil
}

// adoptClusters returns the entries of spec.adopt for the clusters of the flags.
func (o *specOptions) adoptClusters() []metav1alpha1.AdoptRule {
	var entries []metav1alpha1.AdoptRule
	for _, uid := range o.clusters {
		entries = append(entries, metav1alpha1.AdoptRule{Cluster: uid})
	}
	return entries
}

func checkField(field, value string) error {
	if value == "" {
		return nil
	}
	var problems []string
	switch field {
	case "generator":
		if !slices.Contains(command.Generators, value) {
			problems = []string{"want " + strings.Join(command.Generators, ", ")}
		}
	case "targetNamespace":
		problems = validation.IsDNS1123Label(value)
	case "targetName", "serviceAccountName":
		problems = validation.IsDNS1123Subdomain(value)
	}
	if len(problems) > 0 {
		return exit.BadUsage("--%s %q: %s", flagOfField[field], value, strings.Join(problems, ", "))
	}
	return nil
}
